import { expect, test } from 'vitest';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { form, input, messages, thread } from '../../helpers/console/open-page.ts';
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
import { long } from '../../helpers/long.ts';

const COLOURS = ['light', 'dark'] as const;

inBrowser('how the page looks', () => {
  test.each(long ? COLOURS : COLOURS.slice(0, 1))(
    'nothing scrolls sideways at 320 px in %s',
    async (colorScheme) => {
      const running = await startTestConsole();
      const { page } = await openPage(running, {
        colorScheme,
        viewport: { width: 320, height: 640 },
      });
      const wide = 'x'.repeat(300);
      const sideways = () =>
        page.evaluate(() => [
          document.documentElement.scrollWidth - innerWidth,
          ...[...document.querySelectorAll('.scrolled')].map(
            (box) => box.scrollWidth - box.clientWidth,
          ),
        ]);
      expect(Math.max(...(await sideways()))).toBe(0);
      await running.console.post({
        channel: 'general',
        id: 'wide',
        attempted: false,
        card: {
          tone: 'warning',
          title: wide,
          parts: [
            { kind: 'text', text: wide },
            { kind: 'facts', facts: [{ label: wide, value: wide }] },
            {
              kind: 'findings',
              heading: wide,
              items: [{ atMs: 1, text: wide, url: `https://${'a'.repeat(60)}.${wide}.example` }],
            },
            { kind: 'code', text: wide },
            {
              kind: 'table',
              columns: ['Status', 'Name', 'Target', 'Kind'],
              rows: [['DOWN', wide, wide, 'HTTP']],
            },
          ],
          footer: wide,
          actions: ['Check now', wide, wide, 'Ask why', wide].map((label) => ({
            ...{ label, command: 'x', values: {} },
          })),
        },
      });
      await page.locator('.card').waitFor();
      expect(Math.max(...(await sideways()))).toBe(0);
      running.provider.answerWith([
        `${wide}\n\n\`\`\`\n${wide}\n\`\`\`\n\n| a | b | c |\n| - | - | - |\n| ${wide} | 2 | 3 |\n\nend`,
      ]);
      await say(page, `/ask ${wide}`);
      await thread(page).getByText('end', { exact: true }).waitFor();
      await thread(page).getByRole('button', { name: 'Bad answer' }).waitFor();
      await eventuallyEquals(() => messages(page).isVisible(), false);
      expect(Math.max(...(await sideways()))).toBe(0);
      await page.goBack();
      await messages(page).waitFor();
    },
  );

  test('a menu button at 320 px opens the channels, commands and the name, also by keyboard', async () => {
    const running = await startTestConsole({ channels: ['ops', 'x'.repeat(40)] });
    const { page, complaints } = await openPage(running, { viewport: { width: 320, height: 640 } });
    const menu = page.getByRole('button', { name: /^Menu/ });
    const side = page.locator('#side');
    await eventuallyEquals(() => side.isVisible(), false);
    await tabTo(page, menu);
    await page.keyboard.press('Enter');
    await side.waitFor();
    await eventuallyEquals(() => sidewaysPx(page), 0);
    await tabTo(page, side.getByRole('button', { name: 'Change name' }));
    await page.keyboard.press('Enter');
    await side.getByLabel('Your name').fill('W'.repeat(32));
    await page.keyboard.press('Enter');
    await side.getByText('W'.repeat(32)).waitFor();
    await eventuallyEquals(() => sidewaysPx(page), 0);
    // The focus comes back with the next frame.
    await eventually(() => hasFocus(side.getByRole('button', { name: 'Change name' })));
    await page.keyboard.press('Escape');
    await side.waitFor({ state: 'hidden' });
    await eventually(() => hasFocus(menu));

    await menu.click();
    await side.getByRole('link', { name: 'ops' }).click();
    await side.waitFor({ state: 'hidden' });
    await page.getByRole('main', { name: 'ops' }).waitFor();
    await menu.click();
    await side.getByRole('button', { name: '/monitor list' }).click();
    await side.waitFor({ state: 'hidden' });
    await eventually(() => hasFocus(input(page, 'ops')));
    await input(page, 'ops').press('Enter');
    await messages(page).getByText('No monitors').waitFor();
    await messages(page).getByRole('button', { name: 'Ask about this' }).click();
    await thread(page).waitFor();
    await menu.click();
    await side.getByRole('button', { name: 'Commands' }).click();
    await side.getByRole('button', { name: '/askwatch help' }).click();
    await eventually(() => hasFocus(input(page, 'ops')));
    await eventuallyEquals(() => input(page, 'ops').inputValue(), '/askwatch help ');
    expect(complaints).toEqual([]);
  });

  test.each(long ? COLOURS : COLOURS.slice(1))(
    'axe finds nothing serious in any state in %s',
    async (colorScheme) => {
      const running = await startTestConsole({ channels: ['ops'] });
      running.service.add({ name: 'Shop' });
      const { page } = await openPage(running, { colorScheme });
      const findings = async (state: string) =>
        expect([state, await findingsOf(page)]).toEqual([state, []]);
      await findings('empty');
      const other = await openTab(running.url);
      await other.say('/monitor list', { channel: 'ops' });
      await page.getByText('1 unread').waitFor();
      await say(page, '/monitor show nothing');
      await messages(page).getByText('Only you can see this').waitFor();
      await findings('private and unread');
      await input(page).fill('/mon');
      await page.getByRole('option').first().waitFor();
      await findings('suggestions');
      await input(page).fill('/monitor add ');
      await page.locator('.hint').waitFor();
      await findings('hint');
      await input(page).press('Enter');
      await form(page).getByRole('button', { name: 'Add', exact: true }).click();
      await form(page).getByText('“target” is missing').waitFor();
      await findings('form');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'New channel' }).click();
      await page.getByLabel('New channel name').fill('no!');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await page.getByRole('button', { name: 'Change name' }).click();
      await findings('names');
      running.provider.answerWith(
        '**Bold** `code`\n\n| a | b |\n| - | - |\n| 1 | [link](https://x.example) |',
      );
      await say(page, 'why?');
      await thread(page).getByRole('button', { name: 'Good answer' }).waitFor();
      await findings('thread');
      await page.setViewportSize({ width: 320, height: 640 });
      await page.getByRole('button', { name: /^Menu/ }).click();
      await findings('menu');
    },
  );
});
