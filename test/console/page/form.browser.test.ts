import { expect, test } from 'vitest';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { form, input, inputOfForm, messages, thread } from '../../helpers/console/open-page.ts';
import {
  hasFocus,
  openPage,
  say,
  sidewaysPx,
  tabTo,
} from '../../helpers/console/open-playground.ts';
import { openTab, startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

inBrowser('a form in the browser', () => {
  test('a form is opened, corrected and sent by keyboard alone, and the focus follows', async () => {
    const { service, ...running } = await startTestConsole();
    const { page, complaints } = await openPage(running);
    await input(page).focus();
    await page.keyboard.type('/monitor add');
    await page.keyboard.press('Enter');
    await form(page).getByRole('heading', { name: 'Add a monitor' }).waitFor();
    const target = inputOfForm(page, 'Target');
    await eventually(() => hasFocus(target));
    await page.keyboard.press('Enter');
    await form(page).getByText('“target” is missing').waitFor();
    await eventuallyEquals(() => target.getAttribute('aria-invalid'), 'true');
    await eventually(() => hasFocus(target));

    await page.keyboard.type('shop.example');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.type('KEY');
    const keyword = inputOfForm(page, 'Keyword');
    await keyword.waitFor();
    await tabTo(page, target);
    await page.keyboard.press('Enter');
    await form(page).getByText('needs the text to look for').waitFor();
    await eventuallyEquals(() => target.inputValue(), 'shop.example');
    await eventually(() => hasFocus(keyword));
    expect(service.monitors).toEqual([]);

    await page.keyboard.type('Cart');
    await page.keyboard.press('Enter');
    await messages(page).getByText('Now watching shop.example').waitFor();
    await form(page).waitFor({ state: 'detached' });
    await eventually(() => hasFocus(input(page)));
    expect(service.monitors).toMatchObject([{ check_type: 'KEYWORD' }]);
    expect(complaints).toEqual([]);
  });

  test('Escape closes a form, sends nothing and leads back to the composer', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    for (const close of ['Escape', 'Cancel', 'Close the form']) {
      await say(page, '/monitor add');
      await inputOfForm(page, 'Target').fill('https://shop.example');
      if (close === 'Escape') await page.keyboard.press('Escape');
      else await form(page).getByRole('button', { name: close }).click();
      await form(page).waitFor({ state: 'detached' });
      await eventually(() => hasFocus(input(page)));
    }
    expect(running.service.monitors).toEqual([]);
    await eventuallyEquals(() => messages(page).locator('article').count(), 0);
  });

  test('a form keeps its values when it is refused and when the server does not answer', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await say(page, '/monitor add');
    await inputOfForm(page, 'Target').fill('https://shop.example');
    await inputOfForm(page, 'Name').fill('My shop');
    const send = form(page).getByRole('button', { name: 'Add', exact: true });
    running.service.failWith({ kind: 'status', status: 500 });
    await send.click();
    await form(page).getByRole('alert').getByText('/monitor add did not work').waitFor();
    running.service.recover();
    await page.route('**/console/forms', (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/json',
        body: JSON.stringify({ error: { message: 'Askwatch is stopping.' } }),
      }),
    );
    await send.click();
    await form(page).getByRole('alert').getByText('Askwatch is stopping.').waitFor();
    await eventuallyEquals(() => inputOfForm(page, 'Name').inputValue(), 'My shop');
    await page.unroute('**/console/forms');
    await send.click();
    await messages(page).getByText('Now watching My shop').waitFor();
    expect(running.service.monitors).toHaveLength(1);
  });

  test('a form in a thread is answered there, and fits a window of 320 px', async () => {
    const running = await startTestConsole();
    const said = await (await openTab(running.url)).say('/ask why?');
    const root = said.shown === 'thread' ? said.message : '';
    const { page } = await openPage(running, {
      viewport: { width: 320, height: 480 },
      path: `/#/general/${root}`,
    });
    await page.getByLabel('Message to the thread').fill('/monitor add');
    await page.getByLabel('Message to the thread').press('Enter');
    await form(page).getByRole('button', { name: 'Add', exact: true }).click();
    await form(page).getByText('“target” is missing').waitFor();
    await eventuallyEquals(() => sidewaysPx(page), 0);
    await inputOfForm(page, 'Target').fill(`https://${'x'.repeat(60)}.example/${'x'.repeat(200)}`);
    await form(page).getByRole('button', { name: 'Add', exact: true }).click();
    await thread(page).getByText('Now watching').waitFor();
    await eventuallyEquals(() => sidewaysPx(page), 0);
  });
});
