import { expect, test } from 'vitest';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';

inBrowser('what axe finds', () => {
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
