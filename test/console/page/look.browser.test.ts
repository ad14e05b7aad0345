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
  test('the tabs fit, and the list of commands folds away once its reader has used the chat', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running);
    const tabs = page.getByRole('navigation', { name: 'Pages' });
    const beyondPx = await tabs.evaluate(
      (nav) =>
        (nav.querySelector('li:last-child a')?.getBoundingClientRect().right ?? 0) -
        nav.getBoundingClientRect().right,
    );
    expect(beyondPx).toBeLessThanOrEqual(0);

    const commands = page.getByRole('region', { name: 'Commands' });
    const one = commands.getByRole('button', { name: '/monitor list' });
    await one.waitFor();
    const other = await openTab(running.url);
    await other.say('/monitor list');
    await messages(page).locator('article').waitFor();
    expect(await one.isVisible()).toBe(true);
    await say(page, '/monitor list');
    await one.waitFor({ state: 'hidden' });
    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    await messages(page).getByText('by you').waitFor();
    expect(await one.isVisible()).toBe(false);
    await commands.getByRole('button', { name: 'Commands' }).press('Enter');
    await one.waitFor();
    expect(complaints).toEqual([]);
  });

  test('times of what lasted less than two minutes have seconds', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    const startedMs = Date.parse('2026-01-02T03:04:05Z');
    for (const lastedMs of [70_000, 7_000_000]) {
      const facts = [
        { label: 'Started', value: { atMs: startedMs } },
        { label: 'Ended', value: { atMs: startedMs + lastedMs } },
      ];
      const parts = [{ kind: 'facts' as const, facts }];
      const card = { tone: 'good' as const, title: `${lastedMs}`, parts };
      await running.console.post({ channel: 'general', id: card.title, attempted: false, card });
    }
    const times = messages(page).locator('.card time');
    await eventuallyEquals(() => times.count(), 4);
    const texts = await times.allTextContents();
    expect(texts.map((text) => /\d:\d\d:\d\d/.test(text))).toEqual([true, true, false, false]);
    expect(texts[0]).toMatch(/:04:05/);
  });

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

  test('dark and light follow the system, and words stand out from their ground in both', async () => {
    const running = await startTestConsole();
    await running.console.post({
      channel: 'general',
      id: 'c',
      attempted: false,
      card: {
        tone: 'bad',
        title: 'Shop is down',
        parts: [
          {
            kind: 'table',
            columns: ['Status'],
            rows: [['DOWN'], ['UP'], ['DEGRADED'], ['PAUSED']],
          },
        ],
        footer: 'quiet words',
        actions: [{ label: 'Ask why', command: 'x', values: {} }],
      },
    });
    const said = await (await openTab(running.url)).say('/ask why?');
    if (said.shown !== 'thread') throw new Error('no thread');
    const grounds: number[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      const path = `/#/general/${said.message}`;
      const { page } = await openPage(running, { colorScheme, path });
      await page.locator('.card').waitFor();
      await thread(page).getByRole('button', { name: 'Regenerate' }).waitFor();
      const { ground, contrasts } = await page.evaluate(measureContrasts);
      grounds.push(ground);
      for (const [words, contrast] of contrasts) {
        // WCAG 2.2, success criterion 1.4.3.
        expect(contrast, `${words} in ${colorScheme}`).toBeGreaterThanOrEqual(4.5);
      }
    }
    expect(grounds[0]).toBeGreaterThan(0.8);
    expect(grounds[1]).toBeLessThan(0.1);
  });

  test('at 320 px channels, commands and the name are behind a button, by keyboard too', async () => {
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
    await eventuallyEquals(() => input(page, 'ops').inputValue(), '/askwatch help');
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

/** Luminance of the ground, and the contrast of every text on what is behind it; runs in the page. */
function measureContrasts(): { ground: number; contrasts: Array<[string, number]> } {
  const channels = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([red = 0, green = 0, blue = 0]: number[]) => {
    const [r = 0, g = 0, b = 0] = [red, green, blue].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element: Element | null): number[] => {
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor } = getComputedStyle(each);
      const parts = channels(backgroundColor);
      if (/^rgb/.test(backgroundColor) && (parts[3] ?? 1) === 1) return parts;
    }
    return [255, 255, 255];
  };
  const contrasts: Array<[string, number]> = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const words = node.textContent?.trim() ?? '';
    const parent = node.parentElement;
    if (words === '' || !parent || parent.closest('noscript, .unseen, [aria-hidden]')) continue;
    const text = luminance(channels(getComputedStyle(parent).color));
    const ground = luminance(behind(parent));
    const [light, dark] = [Math.max(text, ground), Math.min(text, ground)];
    contrasts.push([words.slice(0, 40), (light + 0.05) / (dark + 0.05)]);
  }
  return { ground: luminance(behind(document.body)), contrasts };
}
