import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import {
  form,
  holdRequests,
  input,
  inputOfForm,
  messages,
  thread,
  threadInput,
} from '../../helpers/console/open-page.ts';
import { openPage, say } from '../../helpers/console/open-playground.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

/** Presses a button of the last answer by keyboard; resolves to the answer that comes of it, once it is whole. */
async function answerAfter(page: Page, label: string) {
  const button = thread(page).getByRole('button', { name: label }).last();
  const answers = thread(page).locator('article', { has: page.locator('.markdown') });
  await button.waitFor();
  const before = await answers.count();
  await thread(page).getByLabel('Thread messages').focus();
  for (let press = 0; press < 20; press++) {
    await page.keyboard.press('Tab');
    if (await button.evaluate((one) => one === document.activeElement)) break;
  }
  await page.keyboard.press('Enter');
  const answer = answers.nth(before);
  await answer.getByRole('button', { name: 'Regenerate' }).waitFor();
  return answer;
}

test.runIf(process.env.CI)('a browser starts where the tests must be whole', () => {
  expect(browser).toBeDefined();
});

inBrowser('asking in the browser', () => {
  test('a question opens its thread, the answer streams in, and a follow-up is understood', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running);
    running.provider.answerWith(['The **sky** ', 'scatters ', 'blue.']);
    const begin = running.provider.holdChunks();
    await say(page, '/ask why is the sky blue');
    await thread(page).getByText('Askwatch is thinking').waitFor();
    await messages(page).getByText('Askwatch is writing…').waitFor();
    const goOn = running.provider.holdChunks(1);
    begin();
    await thread(page).locator('.growing strong', { hasText: 'sky' }).waitFor();
    goOn();
    await thread(page).locator('.markdown:not(.growing)', { hasText: 'scatters blue.' }).waitFor();
    await thread(page).locator('.footer', { hasText: 'test-model' }).waitFor();
    await messages(page).getByText('1 reply').waitFor();

    running.provider.answerWith('Violet is absorbed.');
    await threadInput(page).fill('why not violet?');
    await threadInput(page).press('Enter');
    await thread(page).getByText('Violet is absorbed.').waitFor();
    expect(JSON.stringify(running.provider.calls[1]?.body.messages)).toContain('scatters blue');
    await page.getByRole('status').getByText('Askwatch answered: Violet is absorbed.').waitFor();
    expect(complaints).toEqual([]);
  });

  test('code is coloured and copied as it was written, tables keep their alignment, formulas are code', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const code = 'const a = "<b>";\n\nlet c;';
    const table = '| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |';
    running.provider.answerWith([`\`\`\`ts\n${code}\n`, `\`\`\`\n\n${table}\n\n`, 'so $x_1$.']);
    await say(page, '/ask how?');
    const answer = thread(page).locator('.markdown:not(.growing)');
    await answer.locator('code', { hasText: /^x_1$/ }).waitFor();
    await answer.locator('.hljs-keyword', { hasText: 'const' }).waitFor();
    await answer.getByRole('button', { name: 'Copy' }).click();
    await answer.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code);
    const aligned = await answer
      .locator('td')
      .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign));
    expect(aligned).toEqual(['start', 'center', 'end']);
    expect(complaints).toEqual([]);
  });

  test('an answer is stopped by mouse, asked for again and made anew by keyboard, and rated by name', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running);
    running.provider.answerWith(['One, ', 'two, ', 'three.']);
    const goOn = running.provider.holdChunks(2);
    await say(page, '/ask count');
    await thread(page).locator('.growing', { hasText: 'One, two,' }).waitFor();
    await thread(page).getByRole('button', { name: 'Stop' }).click();
    await thread(page).getByText('Stopped by Guest 1 at the web console.').waitFor();
    await eventuallyEquals(() => thread(page).getByRole('button', { name: 'Stop' }).count(), 0);

    goOn();
    running.provider.answerWith('Four.');
    const second = await answerAfter(page, 'Try again');
    await eventuallyEquals(
      () => second.locator('.markdown').textContent(),
      expect.stringContaining('Four.'),
    );
    running.provider.answerWith('Five.');
    const again = await answerAfter(page, 'Regenerate');
    await eventuallyEquals(
      () => again.locator('.markdown').textContent(),
      expect.stringContaining('Five.'),
    );
    await again.getByRole('button', { name: 'Bad answer' }).waitFor();
    await again.getByRole('button', { name: 'Good answer' }).click();
    await thread(page).getByText('Thank you, rated 👍').waitFor();
    await again.getByRole('button', { name: 'Good answer', pressed: true }).click();
    await again.getByRole('button', { name: 'Good answer', pressed: true }).waitFor();
    // A reload keeps what is pressed, so that a press then shows what it does: it takes the rating back.
    await page.reload();
    const good = thread(page).getByRole('button', { name: 'Good answer', pressed: true });
    await good.waitFor();
    // Within two seconds it would be a double click, which changes nothing.
    await page.waitForTimeout(2_100);
    await good.click();
    await thread(page).getByText('Nothing from you is kept').waitFor();
    await eventuallyEquals(() => good.count(), 0);
    expect(complaints).toEqual([]);
  });

  test('👎 asks in a form what was wrong, which may be closed or sent', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running);
    await say(page, '/ask why');
    await thread(page).getByRole('button', { name: 'Bad answer' }).click();
    await form(page).getByRole('heading', { name: 'What was wrong?' }).waitFor();
    await inputOfForm(page, 'Reason').selectOption('out of date');
    await inputOfForm(page, 'What').fill('It was so yesterday.');
    await form(page).getByRole('button', { name: 'Send' }).click();
    await form(page).waitFor({ state: 'detached' });
    await thread(page).getByText('Thank you, rated 👎').waitFor();
    await thread(page).getByText('Your comment is saved').waitFor();
    expect(complaints).toEqual([]);
  });

  test('a thread that opens takes no line from who writes the next one meanwhile', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    const goOn = await holdRequests(page, '**/console/sayings');
    running.provider.answerWith('Because it is.');
    await say(page, '/ask why');
    await input(page).fill('half a l');
    goOn();
    await thread(page).getByText('Because it is.').waitFor();
    await page.keyboard.type('ine');
    await eventuallyEquals(() => input(page).inputValue(), 'half a line');
  });

  test('a private answer is shared: its thread opens, and the private one is gone', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running);
    running.provider.answerWith('Quietly.');
    await say(page, '/ask private=true why?');
    await messages(page).getByText('Only you can see this').waitFor();
    await messages(page).getByRole('button', { name: 'Share' }).click();
    await thread(page).getByText('Quietly.').waitFor();
    await messages(page).locator('.typed', { hasText: 'why?' }).waitFor();
    await messages(page).getByText('Only you can see this').waitFor({ state: 'detached' });
    await eventuallyEquals(() => messages(page).locator('article').count(), 1);
    expect(complaints).toEqual([]);
  });
});
