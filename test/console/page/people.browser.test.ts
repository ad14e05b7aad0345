import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { messages, thread, threadInput } from '../../helpers/console/open-page.ts';
import { openPage, say } from '../../helpers/console/open-playground.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

async function rename(page: Page, name: string) {
  await page.getByRole('button', { name: 'Change name' }).click();
  await page.getByLabel('Your name').fill(name);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Change name' }).getByText(name).waitFor();
}

/** The thread's messages with their authors, without answers that are still growing. */
const linesIn = (page: Page) =>
  thread(page)
    .locator('article')
    .evaluateAll((all) =>
      all
        .filter((one) => !one.querySelector('.growing, .thinking'))
        .map((one) => {
          const words = one.querySelector('.typed, .markdown')?.textContent ?? '';
          return `${one.querySelector('strong')?.textContent}: ${words.trim()}`;
        }),
    );

inBrowser('people in the browser', () => {
  test('a private card says so, survives a reload, and disappears when dismissed', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await say(page, '/monitor show nothing');
    await page.getByText('Only you can see this').waitFor();
    await page.reload();
    await page.getByText('Only you can see this').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.getByText('Only you can see this').waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText('Four things to try').waitFor();
  });

  test('two people who write in one thread see each other’s messages and the answers in order', async () => {
    const running = await startTestConsole();
    const [{ page: ann, complaints }, { page: bob }] = [
      await openPage(running),
      await openPage(running),
    ];
    await rename(ann, 'Ann');
    await rename(bob, 'Bob');
    running.provider.answerWith('First answer.');
    await say(ann, 'first question');
    await thread(ann).getByRole('button', { name: 'Regenerate' }).waitFor();
    await messages(bob).getByRole('button', { name: '1 reply' }).click();
    running.provider.answerWith(['Second ', 'answer.']);
    const goOn = running.provider.holdChunks(1);
    await threadInput(bob).fill('second question');
    await threadInput(bob).press('Enter');
    await thread(bob).locator('.growing', { hasText: 'Second' }).waitFor();
    await threadInput(ann).fill('third question');
    await threadInput(ann).press('Enter');
    for (const page of [ann, bob]) await thread(page).getByText('third question').waitFor();
    goOn();
    const lines = [
      'Ann: first question',
      'Askwatch: First answer.',
      'Bob: second question',
      'Askwatch: Second answer.',
      'Ann: third question',
      'Askwatch: Second answer.',
    ];
    for (const page of [ann, bob]) {
      await eventually(async () => JSON.stringify(await linesIn(page)) === JSON.stringify(lines));
    }
    await eventuallyEquals(() => thread(ann).locator('.you').count(), 2);
    await eventuallyEquals(() => thread(bob).locator('.you').count(), 1);
    expect(complaints).toEqual([]);
  });
});
