import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../fakes/model-provider.ts';
import { browser, inBrowser } from '../helpers/browser/in-browser.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { eventuallyEquals } from '../helpers/eventually-equals.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

/** Checks run every five seconds, and an alert follows the next poll. */
const ALERT_WITHIN_MS = 60_000;

/** A web server that goes away and comes back at the same address. */
async function startTarget() {
  let server: Server | undefined;
  let port = 0;
  async function up() {
    server = createServer((_request, response) => void response.end('all is well'));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }
  async function down() {
    const closing = server;
    server = undefined;
    if (!closing) return;
    closing.close();
    closing.closeAllConnections();
    await once(closing, 'close');
  }
  await up();
  onTestFinished(down);
  return { url: `http://127.0.0.1:${port}/`, up, down };
}

/** A model that says which questions it was sent, in one piece each. */
async function startEcho() {
  const provider = await startModelProvider({ models: ['gpt-5.6-luna'] });
  onTestFinished(() => provider.close());
  provider.answerWith(({ messages }: { messages: Array<{ role: string; content: string }> }) =>
    messages
      .filter(({ role }) => role === 'user')
      .map(({ content }) => `You asked “${content}”. `)
      .concat('That is all.'),
  );
  const env = { OPENAI_API_KEY: provider.apiKey, OPENAI_BASE_URL: `${provider.url}/v1` };
  return { provider, env };
}

async function say(page: Page, label: string, text: string) {
  await page.getByLabel(label).fill(text);
  await page.getByLabel(label).press('Enter');
}

inBrowser('the whole program in a real browser', () => {
  test('ask, go on asking, watch, be alerted, be killed and go on', {
    timeout: 400_000,
  }, async () => {
    if (!browser) return;
    const target = await startTarget();
    const dataDir = await temporaryFolder();
    const echo = await startEcho();
    const env = { ...echo.env, MONITOR_ALLOW_PRIVATE: '127.0.0.1/32', ALERT_POLL_SECONDS: '1' };
    const first = await startAskwatch({ dataDir, env });
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(45_000);
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));

    await page.goto(first.url);
    const channel = page.getByLabel('Messages', { exact: true });
    const thread = page.getByRole('complementary', { name: 'Thread' });
    const goOn = echo.provider.holdChunks(1);
    await channel.getByRole('button', { name: '/ask why is the sky blue' }).click();
    await page.getByLabel('Message to general').press('Enter');
    await thread.locator('.growing', { hasText: 'You asked “why is the sky blue”.' }).waitFor();
    goOn();
    await thread.locator('.footer').waitFor();
    await say(page, 'Message to the thread', 'and at night?');
    const both = 'You asked “why is the sky blue”. You asked “and at night?”. That is all.';
    await thread.getByText(both).waitFor();
    await thread.locator('.footer').nth(1).waitFor();
    await page.keyboard.press('Escape');

    await say(page, 'Message to general', `/monitor add ${target.url} name="Shop" interval=5`);
    await channel.locator('.card.good', { hasText: 'Shop' }).waitFor();
    await say(page, 'Message to general', '/monitor list');
    await channel.locator('tr', { hasText: 'Shop' }).locator('.status.good').waitFor();

    await target.down();
    const alerts = channel.locator('article', { hasText: /Incident [0-9a-f]{8}/ });
    await alerts
      .locator('.card.bad', { hasText: 'Shop is down' })
      .waitFor({ timeout: ALERT_WITHIN_MS });
    const firstAlert = await alerts.getAttribute('data-message');
    await alerts.getByRole('button', { name: 'Check now' }).click();
    await thread.getByText('Shop is down').nth(1).waitFor();
    await thread.getByText('Checked just now').waitFor();
    await page.keyboard.press('Escape');
    await target.up();
    await page
      .locator(`[data-message="${firstAlert}"] .card.good`, { hasText: 'Shop recovered' })
      .waitFor({ timeout: ALERT_WITHIN_MS });
    await eventuallyEquals(() => alerts.count(), 1);

    await target.down();
    await alerts
      .locator('.card.bad', { hasText: 'Shop is down' })
      .waitFor({ timeout: ALERT_WITHIN_MS });
    const secondAlert = await alerts.nth(1).getAttribute('data-message');
    await alerts.nth(1).getByRole('button', { name: 'Acknowledge' }).click();
    await alerts.nth(1).getByText('Acknowledged by').waitFor();
    const letGo = echo.provider.holdChunks(1);
    await say(page, 'Message to general', '/ask what happens to an answer that is cut?');
    await thread.locator('.growing', { hasText: 'You asked “what happens' }).waitFor();
    const before = await channel.locator('article').count();
    await first.kill();
    letGo();
    await page.getByText('Connection lost').waitFor();

    const { port } = new URL(first.url);
    const second = await startAskwatch({ dataDir, env: { ...env, PORT: port } });
    await page.getByText('Live', { exact: true }).waitFor();
    await thread.locator('.note', { hasText: 'Interrupted' }).waitFor();
    await page.reload();
    await channel.getByText('why is the sky blue').waitFor();
    await eventuallyEquals(() => channel.locator('article').count(), before);
    await channel
      .locator('article', { hasText: 'why is the sky blue' })
      .getByText('3 replies')
      .click();
    await thread.getByText(both).waitFor();

    await alerts.nth(1).getByText('Acknowledged by').waitFor();
    await alerts.nth(1).getByRole('button', { name: 'Ask why' }).click();
    await thread.getByText('You asked “Why is this down').waitFor();
    await target.up();
    await channel
      .locator(`[data-message="${secondAlert}"] .card.good`, { hasText: 'Shop recovered' })
      .waitFor({ timeout: ALERT_WITHIN_MS });
    await eventuallyEquals(() => alerts.count(), 2);
    expect(complaints).toEqual([]);
    expect(await second.stop()).toBe(0);
  });
});
