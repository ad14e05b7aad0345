import { expect, test } from 'vitest';
import { findingsOf } from '../helpers/browser/axe.ts';
import { browser, inBrowser } from '../helpers/browser/in-browser.ts';
import { startGateway } from '../helpers/gateway/running-gateway.ts';
import { startService } from '../helpers/monitoring/service.ts';

const API = {
  gateway: { start: async () => (await startGateway()).url, request: 'POST /v1/chat/completions' },
  monitoring: {
    start: async () => (await startService()).url,
    request: 'GET /api/v1/public/monitors',
  },
};

inBrowser('the page of an API', () => {
  test.each(Object.entries(API))(
    'of the %s lists its requests, asks no other host, and is accessible',
    async (_name, { start, request }) => {
      const url = await start();
      const context = await browser?.newContext();
      const page = await context?.newPage();
      if (!page) throw new Error('There is no browser.');
      const asked: string[] = [];
      const refused: string[] = [];
      page.on('request', (one) =>
        asked.push(new URL(one.url()).origin + new URL(one.url()).pathname),
      );
      page.on('console', (message) => message.type() === 'error' && refused.push(message.text()));
      await page.goto(`${url}/docs`);
      await page.getByRole('link', { name: request, exact: true }).click();
      expect(await page.getByRole('heading', { name: request, exact: true }).isVisible()).toBe(
        true,
      );
      expect(await findingsOf(page)).toEqual([]);
      expect(new Set(asked.filter((one) => !one.endsWith('/favicon.ico')))).toEqual(
        new Set([`${url}/docs`]),
      );
      // The policy allows the page's own style.
      expect(
        refused.filter((text) => /Content Security Policy/.test(text) && !/favicon/.test(text)),
      ).toEqual([]);
      expect(await page.evaluate(`getComputedStyle(document.body).maxWidth`)).toBe('896px');
      await context?.close();
    },
  );
});
