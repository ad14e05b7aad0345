import { afterAll, describe, expect, test, vi } from 'vitest';
import { findingsOf } from '../support/axe.ts';
import { startBrowser, warnWithoutBrowser } from '../support/browser.ts';

vi.setConfig({ testTimeout: 150_000 });

const started = await startBrowser();
const browser = 'unavailable' in started ? undefined : started;
if ('unavailable' in started) warnWithoutBrowser(started.unavailable);
afterAll(() => browser?.close());

describe.skipIf(!browser)('what axe finds', () => {
  test('is told when it is serious, and nothing when all is well', async () => {
    const page = await browser?.newPage();
    if (!page) throw new Error('There is no browser.');
    const pageWith = (button: string) =>
      `<html lang="en"><title>A page</title><main><h1>A page</h1>${button}</main></html>`;
    await page.setContent(pageWith('<button>Send</button>'));
    expect(await findingsOf(page)).toEqual([]);
    await page.setContent(pageWith('<button></button>'));
    expect(await findingsOf(page)).toEqual([expect.stringMatching(/^button-name: .+ \(button\)$/)]);
  });
});
