import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { startBreakableProxy } from '../../helpers/console/breakable-proxy.ts';
import { holdRequests, input, messages, thread } from '../../helpers/console/open-page.ts';
import { openPage, say } from '../../helpers/console/open-playground.ts';
import { openTab, startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

inBrowser('the connection of the page', () => {
  test('a late response to an earlier request does not change an open thread', async () => {
    const running = await startTestConsole();
    running.provider.answerWith(['one ', 'two.']);
    const goOn = running.provider.holdChunks(1);
    const said = await (await openTab(running.url)).say('/ask why?');
    if (said.shown !== 'thread') throw new Error('no thread');
    const { page } = await openPage(running);
    const answers: Array<() => Promise<void>> = [];
    await page.route('**/console/threads/*', async (route) => {
      const response = await route.fetch();
      answers.push(() => route.fulfill({ response }));
    });
    const go = (to: string) => page.evaluate((hash) => location.assign(hash), to);
    await go(`#/general/${said.message}`);
    await eventually(() => answers.length === 1);
    await go('#/general');
    await thread(page).waitFor({ state: 'detached' });
    await go(`#/general/${said.message}`);
    await eventually(() => answers.length === 2);
    await answers[1]?.();
    await thread(page).getByRole('button', { name: 'Stop' }).waitFor();
    goOn();
    const whole = thread(page).getByRole('button', { name: 'Regenerate' });
    await whole.waitFor();
    await answers[0]?.();
    await pause(500);
    expect(await whole.isVisible()).toBe(true);
  });

  test('a page that reconnects has missed nothing and repeats nothing', async () => {
    const running = await startTestConsole();
    const wire = await startBreakableProxy(running.url);
    const { page } = await openPage(wire);
    wire.cut();
    await page.getByText('Connection lost').waitFor();
    await running.console.post({
      channel: 'general',
      id: 'm',
      attempted: false,
      card: { tone: 'info', title: 'Meanwhile', parts: [] },
    });
    await say(page, '/monitor list');
    wire.mend();
    await page.getByText('Live', { exact: true }).waitFor();
    await messages(page).getByText('Meanwhile').waitFor();
    await messages(page).getByText('No monitors').waitFor();
    await eventuallyEquals(() => messages(page).locator('.card').count(), 2);
  });

  test('a page whose stream is refused reconnects by itself', async () => {
    const running = await startTestConsole();
    const wire = await startBreakableProxy(running.url);
    const { page } = await openPage(wire);
    let refused = 0;
    await page.route('**/console/events*', async (route) => {
      refused += 1;
      if (refused > 2) await route.continue();
      else await route.fulfill({ status: 503, headers: { 'retry-after': '2' }, body: '' });
    });
    wire.cut();
    await page.getByText('Connection lost').waitFor();
    wire.mend();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(refused).toBeGreaterThan(2);
  });

  test('a line that could not be sent returns to the composer with the reason', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await page.route('**/console/sayings', (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/json',
        body: JSON.stringify({ error: { message: "The message couldn't be stored. Try again." } }),
      }),
    );
    await say(page, '/monitor list');
    await page.getByRole('alert').getByText("couldn't be stored").waitFor();
    await eventuallyEquals(() => input(page).inputValue(), '/monitor list');
  });

  test('a line that could not be sent waits in its channel for a reader who has left', async () => {
    const running = await startTestConsole({ channels: ['ops'] });
    const { page } = await openPage(running);
    const goOn = await holdRequests(page, '**/console/sayings');
    await say(page, '/monitor list');
    await page.getByRole('link', { name: 'ops' }).click();
    await input(page, 'ops').waitFor();
    await running.stop();
    goOn();
    await page.waitForFunction(() => sessionStorage.getItem('unsent lines'));
    await eventuallyEquals(() => input(page, 'ops').inputValue(), '');
    await page.getByRole('link', { name: 'general' }).click();
    await eventuallyEquals(() => input(page).inputValue(), '/monitor list');
    await page.getByRole('alert').getByText("Can't reach Askwatch").waitFor();
  });

  test('a line that could not be stored is sent again as the same interaction', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    const ids: string[] = [];
    await page.route('**/console/sayings', async (route) => {
      ids.push((route.request().postDataJSON() as { id: string }).id);
      if (ids.length > 2) return await route.continue();
      // The second as by a process whose connection to the one with the bot broke.
      const refusal =
        ids.length === 1 ? { status: 503, headers: { 'retry-after': '1' } } : { status: 502 };
      await route.fulfill({
        ...refusal,
        contentType: 'application/json',
        body: JSON.stringify({ error: { message: 'Nothing was done.' } }),
      });
    });
    await say(page, '/monitor list');
    await messages(page).getByText('No monitors').waitFor();
    expect(ids).toEqual([ids[0], ids[0], ids[0]]);
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});
