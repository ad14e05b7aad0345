import type { FileChooser, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { input, messages, thread } from '../../helpers/console/open-page.ts';
import { openPage, tabTo } from '../../helpers/console/open-playground.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { png } from '../../helpers/files/made-pictures.ts';
import { partsSaid, SEES } from '../../helpers/files/sending-bot.ts';

const PICTURE = { name: 'screen.png', mimeType: 'image/png', buffer: png(40, 30) };
const SHOWN = `data:image/png;base64,${PICTURE.buffer.toString('base64')}`;
const LOG = { name: 'app.log', mimeType: 'text/plain', buffer: Buffer.from('line 1') };

async function open(options: Parameters<typeof openPage>[1] = {}) {
  const provider = await startModelProvider({ models: [{ id: 'sees', ...SEES }] });
  onTestFinished(() => provider.close());
  const running = await startTestConsole({ provider });
  const opened = await openPage(running, options);
  /** The parts of the model's newest question. */
  const said = async () => {
    const call = await eventually(() => provider.calls.at(-1));
    return partsSaid(call).at(-1);
  };
  return { ...running, ...opened, said };
}

const channel = (page: Page) => page.getByRole('main');
const attached = (page: Page) => channel(page).getByLabel('Attached files').getByRole('listitem');
const chooser = (page: Page) => channel(page).locator('input[type=file]');

/** Pastes or drops a file on the composer. */
function give(page: Page, how: 'paste' | 'drop', { name, mimeType, buffer }: typeof PICTURE) {
  return input(page).evaluate(
    (line, { how, name, mimeType, base64 }) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], name, { type: mimeType }));
      const options = { bubbles: true, cancelable: true };
      const event =
        how === 'paste'
          ? new ClipboardEvent('paste', { ...options, clipboardData: data })
          : new DragEvent('drop', { ...options, dataTransfer: data });
      return line.dispatchEvent(event);
    },
    { how, name, mimeType, base64: buffer.toString('base64') },
  );
}

inBrowser('files in the browser', () => {
  test.each(['paste', 'drop'] as const)('files are sent with the line after a %s', async (how) => {
    const { page, complaints, said } = await open();
    // The page must cancel the browser's own action.
    expect(await give(page, how, PICTURE)).toBe(false);
    await attached(page).locator('img').waitFor();
    await input(page).fill('what is it?');
    await input(page).press('Enter');
    const answer = thread(page).locator('.markdown:not(.growing)', { hasText: 'Hello from' });
    await answer.waitFor();
    expect(await said()).toEqual(['what is it?', expect.stringContaining('screen.png'), SHOWN]);
    expect(await attached(page).count()).toBe(0);
    const shown = messages(page).getByRole('link', { name: 'screen.png' }).locator('img');
    await shown.waitFor();
    const width = () => shown.evaluate((it) => (it as HTMLImageElement).naturalWidth);
    await eventuallyEquals(width, 40);
    expect(complaints).toEqual([]);
  });

  test('files are chosen and removed by keyboard, and need no words', async () => {
    const { page, complaints, said } = await open();
    const button = channel(page).getByRole('button', { name: 'Attach files' });
    // Chromium reports a chooser only if it was asked to before; on a busy machine a press can come first.
    const chooser = new Promise<FileChooser>((resolve) => page.once('filechooser', resolve));
    await tabTo(page, button);
    await page.keyboard.press('Enter');
    await (await chooser).setFiles([PICTURE, LOG]);
    await eventuallyEquals(() => attached(page).count(), 2);
    const send = channel(page).getByRole('button', { name: 'Send' });
    await eventuallyEquals(() => send.isEnabled(), true);
    await tabTo(page, channel(page).getByRole('button', { name: 'Remove app.log' }), 'Shift+Tab');
    await page.keyboard.press('Enter');
    await eventuallyEquals(() => attached(page).count(), 1);
    expect(await findingsOf(page)).toEqual([]);
    await tabTo(page, send);
    await page.keyboard.press('Enter');
    await thread(page).locator('.markdown:not(.growing)', { hasText: 'Hello from' }).waitFor();
    expect((await said())?.[0]).toBe('What is in this?');
    expect(await findingsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('files are refused with the reason, and the typed line stays', async () => {
    const { page } = await open();
    const problem = channel(page).locator('.problem');
    await input(page).fill('what is it?');
    const archive = { name: 'a.zip', mimeType: 'image/png', buffer: Buffer.from('PK\x03\x04') };
    await chooser(page).setInputFiles([archive]);
    await problem
      .getByText("Couldn't attach “a.zip”. It can't be read: it is an archive")
      .waitFor();
    expect(await attached(page).count()).toBe(0);
    const large = { ...LOG, buffer: Buffer.alloc(4_500_001, 32) };
    await chooser(page).setInputFiles([large]);
    await problem.getByText('“app.log” is larger than 4.5 MB.').waitFor();
    await chooser(page).setInputFiles(Array(5).fill(LOG));
    await problem.getByText('A message can have up to 4 files.').waitFor();
    await eventuallyEquals(() => attached(page).count(), 4);
    expect(await input(page).inputValue()).toBe('what is it?');
  });
});
