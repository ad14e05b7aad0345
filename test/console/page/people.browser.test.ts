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

/** What the thread shows, with who wrote it; answers that are whole. */
const toldIn = (page: Page) =>
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
  test('a text without a slash is a question, and two browsers see the same thread', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    running.provider.answerWith('Forty-two.');
    await say(page, 'what is the answer?');
    await thread(page).getByText('Forty-two.').waitFor();
    const { page: other } = await openPage(running);
    await messages(other).getByRole('button', { name: '1 reply' }).click();
    await thread(other).getByText('Forty-two.').waitFor();
    running.provider.answerWith('Really.');
    await threadInput(other).fill('really?');
    await threadInput(other).press('Enter');
    await thread(page).getByText('Really.').waitFor();
  });

  test('a private card says so, stays when loaded anew, and goes when dismissed', async () => {
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

  test('two people write in one thread: both see both, the answers in order', async () => {
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
    const told = [
      'Ann: first question',
      'Askwatch: First answer.',
      'Bob: second question',
      'Askwatch: Second answer.',
      'Ann: third question',
      'Askwatch: Second answer.',
    ];
    for (const page of [ann, bob]) {
      await eventually(async () => JSON.stringify(await toldIn(page)) === JSON.stringify(told));
    }
    await eventuallyEquals(() => thread(ann).locator('.you').count(), 2);
    await eventuallyEquals(() => thread(bob).locator('.you').count(), 1);
    expect(complaints).toEqual([]);
  });

  test('another name is seen by everyone, also above what was written before', async () => {
    const running = await startTestConsole();
    const [{ page: ann }, { page: bob }] = [await openPage(running), await openPage(running)];
    await say(ann, '/monitor list');
    await messages(bob).getByText('by Guest 1').waitFor();
    await say(ann, 'why?');
    await rename(ann, 'Ann');
    await messages(bob).getByText('by Ann').waitFor();
    await messages(bob).getByText('Ann', { exact: true }).waitFor();
    await messages(ann).getByText('by you').waitFor();
    await bob.getByRole('button', { name: 'Change name' }).click();
    await bob.getByLabel('Your name').fill('ann');
    await bob.keyboard.press('Enter');
    await bob.getByRole('alert').getByText('Choose another name').waitFor();
    await bob.keyboard.press('Escape');
    await bob.getByRole('button', { name: 'Change name' }).getByText('Guest 2').waitFor();
    await ann.reload();
    await ann.getByRole('button', { name: 'Change name' }).getByText('Ann').waitFor();
  });

  test('what is private shows in all tabs of its person, and a dismissal takes it from them all', async () => {
    const running = await startTestConsole();
    const [{ page: ann }, { page: bob }] = [await openPage(running), await openPage(running)];
    const second = await ann.context().newPage();
    await second.goto(running.url);
    await second.getByText('Live', { exact: true }).waitFor();
    await say(ann, '/ask private=true just me?');
    for (const tab of [ann, second])
      await messages(tab).getByRole('button', { name: 'Share' }).waitFor();
    await say(bob, '/monitor list');
    for (const tab of [ann, bob, second]) await messages(tab).getByText('No monitors').waitFor();
    await eventuallyEquals(() => bob.getByText('Only you can see this').count(), 0);
    await second.getByRole('button', { name: 'Dismiss' }).click();
    await ann.getByText('Only you can see this').waitFor({ state: 'detached' });
  });
});
