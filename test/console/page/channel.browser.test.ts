import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Card, FindingItem } from '../../../src/bot/shared/card.ts';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { input, messages, thread } from '../../helpers/console/open-page.ts';
import { openPage } from '../../helpers/console/open-playground.ts';
import { openTab, startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

inBrowser('channels in the browser', () => {
  test('an empty channel offers four things to try, a click away from the input', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    for (const line of [
      '/ask why is the sky blue',
      'What is down?',
      'Watch https://example.com',
      '/askwatch help',
    ]) {
      await messages(page).getByRole('button', { name: line }).click();
      await eventuallyEquals(() => input(page).inputValue(), line);
    }
    await input(page).press('Enter');
    await messages(page).locator('.card').waitFor();
    await eventuallyEquals(() => page.getByText('Four things to try').count(), 0);
  });

  test('the address names the thread, so that it survives a reload and opens from a link', async () => {
    const running = await startTestConsole();
    running.provider.answerWith('Here I am.');
    const said = await (await openTab(running.url)).say('/ask where?', { id: randomUUID() });
    if (said.shown !== 'thread') throw new Error('no thread');
    const { page } = await openPage(running, { path: `/#/general/${said.message}` });
    await thread(page).getByText('Here I am.').waitFor();
    await page.reload();
    await thread(page).getByText('Here I am.').waitFor();
    await page.goto(`${running.url}/#/general/gone`);
    await thread(page).getByText('This thread was deleted').waitFor();
  });

  test('findings under an alert are shown in its thread, and change there', async () => {
    const running = await startTestConsole();
    const { console } = running;
    const card = (title: string, items: FindingItem[]): Card => ({
      ...{ tone: 'info', title },
      parts: [
        { kind: 'findings', heading: 'Changes', items },
        {
          kind: 'facts',
          facts: items.map(({ text, url = '' }) => ({ label: text, value: { text, url } })),
        },
      ],
    });
    const post = { channel: 'general', attempted: false };
    const under = await console.post({ ...post, id: 'a1', card: card('Shop is down', []) });
    const reply = { ...post, under, id: 'a1/findings', card: card('Looking into it', []) };
    const posted = await console.post(reply);
    const { page, complaints } = await openPage(running, { path: `/#/general/${under.thread}` });
    await thread(page).getByText('Looking into it').waitFor();
    const deploy = { atMs: Date.now(), text: 'Deployed', url: 'https://ci.example/1' };
    await console.update('general', posted, card('Found a deploy', [deploy, { text: 'Quiet' }]));
    await thread(page).getByText('Found a deploy').waitFor();
    expect(await thread(page).getByText('Looking into it').count()).toBe(0);
    const [first, second] = await thread(page).locator('.card li').all();
    expect(await first?.innerText()).toMatch(/\d:\d\d.* Deployed ci\.example$/);
    expect(await second?.innerText()).toBe('Quiet');
    expect(await thread(page).locator('dd').allInnerTexts()).toEqual([
      'Deployed (ci.example)',
      'Quiet',
    ]);
    for (const name of ['ci.example', 'Deployed']) {
      const link = thread(page).getByRole('link', { name });
      expect(await link.getAttribute('href')).toBe('https://ci.example/1');
      expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
    }
    expect(complaints).toEqual([]);
  });

  test('a reader who has scrolled up stays there, and a button leads to new messages', async () => {
    const running = await startTestConsole();
    const post = (title: string) =>
      running.console.post({
        channel: 'general',
        id: title,
        attempted: false,
        card: { tone: 'info', title, parts: [] },
      });
    for (let index = 0; index < 20; index++) await post(`old ${index}`);
    const { page } = await openPage(running);
    await messages(page).getByText('old 19').waitFor();
    await messages(page).hover();
    await page.mouse.wheel(0, -600);
    await eventually(() =>
      messages(page).evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop > 300),
    );
    const before = await messages(page).evaluate((box) => box.scrollTop);
    await post('fresh');
    await page.getByRole('button', { name: 'New messages' }).waitFor();
    await eventuallyEquals(() => messages(page).evaluate((box) => box.scrollTop), before);
    await page.getByRole('button', { name: 'New messages' }).click();
    await eventually(() =>
      messages(page).evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop < 5),
    );
  });

  test('a channel is created by keyboard, marked while unread, and named in the address', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running);
    await page.getByRole('button', { name: 'New channel' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('ops europe');
    await page.keyboard.press('Enter');
    await page.getByRole('main', { name: 'ops-europe' }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/ops-europe');
    const link = (name: string) => page.getByRole('link', { name });
    await link('general').click();

    await (await openTab(running.url)).say('/monitor list', { channel: 'ops-europe' });
    await link('ops-europe').getByText('1 unread').waitFor();
    await eventuallyEquals(() => messages(page).locator('.card').count(), 0);
    await page.reload();
    await link('ops-europe').getByText('1 unread').waitFor();
    await link('ops-europe').click();
    await messages(page).getByText('No monitors').waitFor();
    await link('ops-europe').getByText('unread').waitFor({ state: 'detached' });
    await page.reload();
    await messages(page).getByText('No monitors').waitFor();
    await eventuallyEquals(() => page.getByText('unread').count(), 0);
    expect(complaints).toEqual([]);
  });

  test('an unknown channel says so and leads back', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running, { path: '/#/%3Cimg%20src=x%3E' });
    await messages(page).getByText("There's no channel with this name.").waitFor();
    await eventuallyEquals(() => page.locator('main .composer').count(), 0);
    await page.getByRole('link', { name: 'Go to general' }).click();
    await page.getByText('Four things to try').waitFor();
    expect(complaints).toEqual([]);
  });

  test('older messages load when the reader scrolls up, and the list stays in its place', async () => {
    const stored = Array.from({ length: 120 }, (_, index) => ({
      channel: 'general',
      message: {
        id: `m${index}`,
        author: { kind: 'askwatch' as const },
        atMs: 1_000 + index,
        body: {
          kind: 'card' as const,
          card: { tone: 'info' as const, title: `card ${index}.`, parts: [] },
        },
      },
      replies: [],
    }));
    const running = await startTestConsole({ stored });
    const { page, complaints } = await openPage(running);
    await messages(page).getByText('card 119.').waitFor();
    await eventuallyEquals(() => messages(page).locator('article').count(), 50);
    const seen = page.locator('[data-message="m70"]');
    await messages(page).focus();
    await page.keyboard.press('Home');
    await messages(page).getByText('card 20.').waitFor({ state: 'attached' });
    await eventually(async () => {
      const top = await seen.evaluate((one) => one.getBoundingClientRect().top);
      return top > 0 && top < 400;
    });
    await messages(page).getByRole('button', { name: 'Earlier messages' }).press('Enter');
    await messages(page).getByText('card 0.', { exact: true }).waitFor({ state: 'attached' });
    await eventuallyEquals(() => messages(page).locator('article').count(), 120);
    await eventuallyEquals(
      () => messages(page).getByRole('button', { name: 'Earlier messages' }).count(),
      0,
    );
    expect(complaints).toEqual([]);
  });
});
