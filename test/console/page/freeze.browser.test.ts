import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { longestTaskMs } from '../../helpers/browser/longest-task.ts';
import { hostileMarkdown } from '../../helpers/console/hostile-markdown.ts';
import { messages, thread } from '../../helpers/console/open-page.ts';
import { openPage, say } from '../../helpers/console/open-playground.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { long } from '../../helpers/long.ts';

const MEGABYTE = 1_000_000;

/** Each of these texts once froze the page for a different reason. */
const WORST = [
  ...['"**a_"', '"> "', '"- a\\n"', '"- a\\n+ a\\n* a\\n"', '"|a|\\n|-|\\n\\n"', '"a  \\n"'],
  ...['"---\\n"', 'one fence', 'a table of empty cells', 'emphasis in emphasis'],
];

/** Makes every thread of the page contain this one answer. */
async function answerEverywhere(page: Page, text: string, growing = false) {
  await page.unroute('**/console/threads/*');
  await page.route('**/console/threads/*', async (route) => {
    const from = { id: 'root', author: { kind: 'askwatch' }, atMs: Date.now() };
    const message = { ...from, body: { kind: 'text', text: 'Why?' } };
    const answer = {
      ...from,
      id: 'answer',
      body: { kind: 'answer', text, growing, footer: 'End' },
    };
    const listed = { channel: 'general', message, thread: { replies: 1, growing } };
    await route.fulfill({ json: { listed, replies: [answer] } });
  });
}

/**
 * Waits until the answer is drawn. These tests don't use locators while they measure, because a locator visits each of fifty
 * thousand elements, which would count as the page's own work.
 */
async function drawn(page: Page) {
  await eventually(async () => (await page.evaluate(drawings)) > 0);
  let before = 0;
  await eventually(
    async () => {
      const last = before;
      before = await page.evaluate(drawings);
      return last === before;
    },
    { everyMs: 200 },
  );
}

/** Counts the changes of an answer since the first call, beginning with one. Runs in the page. */
function drawings(): number {
  const counting = window as { drawings?: { of: Element; count: number } };
  const of = document.querySelector('[aria-label="Thread"] .markdown');
  if (!of?.firstChild) return 0;
  if (counting.drawings?.of !== of) {
    const counted = { of, count: 1 };
    counting.drawings = counted;
    const options = { childList: true, subtree: true, characterData: true };
    new MutationObserver((changes) => {
      counted.count += changes.length;
    }).observe(of, options);
  }
  return counting.drawings.count;
}

const markdown = (page: Page) => thread(page).locator('.markdown');

/** Measures how long this machine takes now to lay out 5,000 lines, which is the page's limit for one task. */
async function usualTaskMs(page: Page): Promise<number> {
  return await longestTaskMs(page, () =>
    page.evaluate(async () => {
      // A new task, so that it is measured from its beginning.
      await new Promise((resolve) => setTimeout(resolve));
      const box = document.createElement('div');
      for (let line = 0; line < 5_000; line++) {
        const paragraph = document.createElement('p');
        paragraph.textContent = 'Words of a line, one like another. ';
        box.append(paragraph);
      }
      document.body.append(box);
      // Reading the height forces the layout.
      void box.offsetHeight;
      box.remove();
      await new Promise((resolve) => setTimeout(resolve));
    }),
  );
}

/**
 * Measures the longest task and the usual one, up to five times, until the first is less than twice the second. Other processes slow
 * single measurements down, so the shortest of the longest tasks counts, and the longest of the usual ones: a freeze shows every time.
 */
async function comparedTasks(page: Page, work: () => Promise<void>) {
  let longestMs = Number.POSITIVE_INFINITY;
  let usualMs = 0;
  for (let tries = 1; tries <= 5 && longestMs >= 2 * usualMs; tries += 1) {
    longestMs = Math.min(longestMs, await longestTaskMs(page, work));
    usualMs = Math.max(usualMs, await usualTaskMs(page));
  }
  return { longestMs, usualMs };
}

inBrowser('a text of others', () => {
  test('a megabyte of text blocks the page no longer than a screen of lines', async () => {
    const { page, complaints } = await openPage(await startTestConsole());
    const texts = hostileMarkdown(MEGABYTE).filter(([name]) => long || WORST.includes(name));
    expect(texts.length).toBeGreaterThanOrEqual(WORST.length);
    for (const [index, [name, text]] of texts.entries()) {
      // White space shows nothing.
      if (text.trim() === '') continue;
      await answerEverywhere(page, text, index % 2 === 1);
      const read = async () => {
        await page.evaluate((address) => {
          location.hash = address;
        }, `#/general/m${index}`);
        await drawn(page);
        for (const share of [0, 0.5, 0.99]) {
          await page.evaluate((at) => {
            const list = document.querySelector('[aria-label="Thread messages"]');
            if (!list) throw new Error('No thread is shown.');
            list.scrollTop = at * list.scrollHeight;
          }, share);
          await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
        }
        await page.evaluate(() => {
          location.hash = '#/general';
        });
        await thread(page).waitFor({ state: 'detached' });
      };
      const { longestMs, usualMs } = await comparedTasks(page, read);
      expect.soft(longestMs, `${name}, where ${usualMs} ms are usual`).toBeLessThan(2 * usualMs);
    }
    expect(complaints).toEqual([]);
  });
});

inBrowser('an answer that cannot be set', () => {
  const SET = 'Some **strong** words.';

  test('an answer that takes too long to format is shown as plain text with a note, and the next one is formatted', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await page.clock.install();
    const busy = "self.onmessage = () => { for (;;); }; self.postMessage('ready');";
    await page.route('**/console/markdown-worker.js*', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: busy }),
    );
    running.provider.answerWith(SET);
    await say(page, '/ask why?');
    await thread(page).locator('.footer', { hasText: 'test-model' }).waitFor();
    await eventuallyEquals(async () => {
      await page.clock.runFor(1_000);
      return await markdown(page).textContent();
    }, SET);
    await thread(page).getByText('took too long to format').waitFor();

    await page.unroute('**/console/markdown-worker.js*');
    running.provider.answerWith(SET);
    await say(page, '/ask and now?');
    await eventuallyEquals(async () => {
      await page.clock.runFor(100);
      return await markdown(page).locator('strong').count();
    }, 1);
    expect(await thread(page).getByText('took too long to format').count()).toBe(0);
  });

  test('an answer without the formatting script is shown as plain text with a note', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await page.route('**/console/markdown-worker.js*', (route) => route.abort());
    running.provider.answerWith(SET);
    await say(page, '/ask why?');
    await eventuallyEquals(() => markdown(page).textContent(), SET);
    await thread(page).getByText("a script didn't load").waitFor();
    await messages(page).getByText('1 reply').waitFor();
  });
});
