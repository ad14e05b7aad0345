import { expect, test } from 'vitest';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { input, messages, thread, threadInput } from '../../helpers/console/open-page.ts';
import { openPage } from '../../helpers/console/open-playground.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

inBrowser('by keyboard in the browser', () => {
  test('a command is found, filled in and sent by keyboard alone', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    // The commands of the sidebar come before it.
    for (let press = 0; press < 60; press++) {
      await page.keyboard.press('Tab');
      if (await input(page).evaluate((area) => area === document.activeElement)) break;
    }
    await page.keyboard.type('/monitor l');
    const option = page.getByRole('option', { name: /\/monitor list/ });
    await option.waitFor();
    await eventuallyEquals(() => option.getAttribute('aria-selected'), 'true');
    await eventuallyEquals(
      () => input(page).getAttribute('aria-activedescendant'),
      await option.getAttribute('id'),
    );
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await messages(page).getByText('No monitors').waitFor();

    running.provider.answerWith('By keyboard.');
    await page.keyboard.type('/as');
    await page.keyboard.press('Tab');
    await eventuallyEquals(() => input(page).inputValue(), '/ask ');
    await page.getByText('<question>').waitFor();
    await page.keyboard.type('can I?');
    await page.keyboard.press('Enter');
    await thread(page).getByText('By keyboard.').waitFor();
    await eventually(() => threadInput(page).evaluate((area) => area === document.activeElement));
    await page.keyboard.press('Escape');
    await thread(page).waitFor({ state: 'detached' });
    await eventually(() => input(page).evaluate((area) => area === document.activeElement));
    const outline = await page.evaluate(() => {
      const line = document.querySelector('.line');
      return line && getComputedStyle(line).boxShadow;
    });
    expect(outline).not.toBe('none');
  });

  test('fast typing keeps every letter in its place', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await input(page).pressSequentially('/monitor add https://example.com', { delay: 0 });
    await eventuallyEquals(() => input(page).inputValue(), '/monitor add https://example.com');
    await input(page).press('Home');
    await input(page).pressSequentially('abc');
    await input(page).press('End');
    await input(page).press('Shift+Enter');
    await input(page).pressSequentially('second');
    await eventuallyEquals(
      () => input(page).inputValue(),
      'abc/monitor add https://example.com\nsecond',
    );
  });
});
