import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, describe, expect, test, vi } from 'vitest';
import type { Card } from '../../src/bot/card.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { startBrowser, warnWithoutBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { ATTACKS } from './attacks.ts';
import { startBreakableProxy } from './breakable-proxy.ts';
import { input, messages, type OpenOptions, openPageIn, thread, threadInput } from './open-page.ts';
import { openTab, startTestConsole, type TestConsole } from './test-console.ts';

// A browser on a busy machine can be slow; nothing here is about how slow.
vi.setConfig({ testTimeout: 150_000 });

const started = await startBrowser();
const browser: Browser | undefined = 'unavailable' in started ? undefined : started;
if ('unavailable' in started) warnWithoutBrowser(started.unavailable);
afterAll(() => browser?.close());

const openPage = (at: Pick<TestConsole, 'url'>, options?: OpenOptions) =>
  openPageIn(browser, at, options);

async function say(page: Page, text: string) {
  await input(page).fill(text);
  await input(page).press('Enter');
}

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
  expect(started).not.toHaveProperty('unavailable');
});

describe.skipIf(!browser)('in the browser', () => {
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

  test('an answer is stopped by mouse, asked for again and made anew by keyboard, and rated by name', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running);
    running.provider.answerWith(['One, ', 'two, ', 'three.']);
    const goOn = running.provider.holdChunks(2);
    await say(page, '/ask count');
    await thread(page).locator('.growing', { hasText: 'One, two,' }).waitFor();
    await thread(page).getByRole('button', { name: 'Stop' }).click();
    await thread(page).getByText('Stopped by someone at the web console.').waitFor();
    expect(await thread(page).getByRole('button', { name: 'Stop' }).count()).toBe(0);

    goOn();
    running.provider.answerWith('Four.');
    const second = await answerAfter(page, 'Try again');
    expect(await second.locator('.markdown').textContent()).toContain('Four.');
    running.provider.answerWith('Five.');
    const again = await answerAfter(page, 'Regenerate');
    expect(await again.locator('.markdown').textContent()).toContain('Five.');
    await again.getByRole('button', { name: 'Bad answer' }).waitFor();
    await again.getByRole('button', { name: 'Good answer' }).click();
    await thread(page).getByText('Thank you, kept as good').waitFor();
    expect(complaints).toEqual([]);
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
    expect(await messages(page).locator('article').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

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

  test('monitors are added and listed, and an alert appears by itself and turns to recovered in place', async () => {
    const service = await startMonitoringService({ limit: false });
    const running = await startTestConsole({ service });
    const { page, complaints } = await openPage(running);
    await say(page, '/monitor add https://shop.example.com name="Shop"');
    await messages(page).locator('.card.good').first().waitFor();
    await say(page, '/monitor list');
    await messages(page).locator('td .status.good', { hasText: 'UP' }).waitFor();
    const monitor = await eventually(() => service.monitors[0]);
    service.setStatus(monitor.id, 'DOWN');
    const alert = messages(page).locator('article', { has: page.locator('.card.bad') });
    await alert.getByText('Shop is DOWN').waitFor();
    const id = await alert.getAttribute('data-message');
    service.setStatus(monitor.id, 'UP');
    await page
      .locator(`[data-message="${id}"] .card.good`, { hasText: 'Shop recovered' })
      .waitFor();
    expect(await messages(page).getByText('Shop is DOWN').count()).toBe(0);
    expect(complaints).toEqual([]);
    await service.close();
  });

  test('hostile Markdown runs nothing, asks no other server and leads only where links may', async () => {
    const running = await startTestConsole();
    const { page, complaints } = await openPage(running);
    running.provider.answerWith([
      `${ATTACKS}\n\n`,
      '![pixel](https://evil.example/pixel.png) ![](data:image/svg+xml,<svg>)\n\n',
      '[js](javascript:window.hacked=1) [data](data:text/html,hi) [rel](/console/x) [good](https://good.example/x)\n\n',
      '<https://auto.example> [mail](mailto:a@b.example) [ref]\n\n[ref]: vbscript:x\n\n',
      '```html"onmouseover="window.hacked=1\n<b>code</b>\n```\n\n',
      'The end.',
    ]);
    await say(page, '/ask attack');
    await thread(page).getByText('The end.').waitFor();
    const markdown = thread(page).locator('.markdown');
    expect(
      await markdown
        .locator('img, svg, script, style, iframe, form, input, button, link, object')
        .count(),
    ).toBe(0);
    const links = await markdown
      .locator('a')
      .evaluateAll((all) =>
        all.map((link) => [
          link.getAttribute('href'),
          link.getAttribute('rel'),
          link.getAttribute('target'),
        ]),
      );
    const leads = links.map(([href]) => href).filter((href) => href !== null);
    expect(leads.sort()).toEqual([
      'https://auto.example',
      'https://evil.example/pixel.png',
      // Named in plain words; a reader may follow it.
      'https://evil.example/style',
      'https://good.example/x',
      'mailto:a@b.example',
    ]);
    for (const [href, rel, target] of links) {
      if (href !== null) expect([rel, target]).toEqual(['noopener noreferrer', '_blank']);
    }
    const attributes = await markdown.evaluate((root) =>
      [...root.querySelectorAll('*')].flatMap((each) => each.getAttributeNames()),
    );
    expect(attributes.filter((name) => /^on|^style$|^class$|^id$/.test(name))).toEqual([]);
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  test('hostile names, targets, errors and commands are shown as the letters they are', async () => {
    const service = await startMonitoringService({ limit: false });
    const running = await startTestConsole({ service });
    const { page, complaints } = await openPage(running);
    const monitor = service.add({ name: ATTACKS, target: `https://x.example/${ATTACKS}` });
    await say(page, '/monitor list');
    await messages(page).locator('td', { hasText: '<img src=x' }).first().waitFor();
    const card: Card = {
      tone: 'bad',
      title: ATTACKS,
      parts: [
        { kind: 'text', text: ATTACKS },
        { kind: 'facts', facts: [{ label: ATTACKS, value: ATTACKS }] },
        { kind: 'code', text: ATTACKS },
        { kind: 'table', columns: [ATTACKS], rows: [[ATTACKS]] },
      ],
      footer: ATTACKS,
      actions: [{ label: ATTACKS, command: ATTACKS, values: { [ATTACKS]: ATTACKS } }],
    };
    await running.console.post({ channel: 'general', card, id: 'x', attempted: false });
    await messages(page).locator('.card pre', { hasText: '<script>' }).waitFor();
    running.provider.failWith({
      kind: 'status',
      status: 400,
      body: { error: { message: ATTACKS } },
    });
    await say(page, `/ask ${ATTACKS}`);
    await thread(page).locator('.note').waitFor();
    await input(page).fill(ATTACKS);
    service.setStatus(monitor.id, ATTACKS);
    await messages(page).locator('.typed', { hasText: '<svg' }).first().waitFor();

    expect(
      await page
        .locator('img, script:not([src]), iframe, form:not(.composer), .scrolled a')
        .count(),
    ).toBe(0);
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(complaints).toEqual([]);
    await service.close();
  });

  test('a command is found, filled in and sent by keyboard alone', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    for (let press = 0; press < 40; press++) {
      await page.keyboard.press('Tab');
      if (await input(page).evaluate((area) => area === document.activeElement)) break;
    }
    await page.keyboard.type('/monitor l');
    const option = page.getByRole('option', { name: /\/monitor list/ });
    await option.waitFor();
    expect(await option.getAttribute('aria-selected')).toBe('true');
    expect(await input(page).getAttribute('aria-activedescendant')).toBe(
      await option.getAttribute('id'),
    );
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await messages(page).getByText('No monitors').waitFor();

    running.provider.answerWith('By keyboard.');
    await page.keyboard.type('/as');
    await page.keyboard.press('Tab');
    expect(await input(page).inputValue()).toBe('/ask ');
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

  test('typing fast, in the middle and with Shift+Enter keeps every letter in its place', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await input(page).pressSequentially('/monitor add https://example.com', { delay: 0 });
    expect(await input(page).inputValue()).toBe('/monitor add https://example.com');
    await input(page).press('Home');
    await input(page).pressSequentially('abc');
    await input(page).press('End');
    await input(page).press('Shift+Enter');
    await input(page).pressSequentially('second');
    expect(await input(page).inputValue()).toBe('abc/monitor add https://example.com\nsecond');
  });

  test('an empty channel offers three things to try, a click away from the input', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    for (const line of [
      '/ask why is the sky blue',
      '/monitor add https://example.com',
      '/askwatch help',
    ]) {
      await messages(page).getByRole('button', { name: line }).click();
      expect(await input(page).inputValue()).toBe(line);
    }
    await input(page).press('Enter');
    await messages(page).locator('.card').waitFor();
    expect(await page.getByText('Three things to try').count()).toBe(0);
  });

  test('a private card says so, and goes when dismissed or loaded anew', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await say(page, '/monitor add');
    await page.getByText('Only you can see this').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.getByText('Only you can see this').waitFor({ state: 'detached' });
    await say(page, '/monitor add');
    await page.getByText('Only you can see this').waitFor();
    await page.reload();
    await page.getByText('Three things to try').waitFor();
  });

  test.each(['light', 'dark'] as const)(
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
      expect(await messages(page).isVisible()).toBe(false);
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
        title: 'Shop is DOWN',
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

  test('a page whose connection broke comes back, misses nothing and says nothing twice', async () => {
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
    expect(await messages(page).locator('.card').count()).toBe(2);
  });

  test('what could not be sent stands in the input again, with the reason', async () => {
    const running = await startTestConsole();
    const { page } = await openPage(running);
    await page.route('**/console/sayings', (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/json',
        body: JSON.stringify({ error: { message: 'The message could not be stored. Try again.' } }),
      }),
    );
    await say(page, '/monitor list');
    await page.getByRole('alert').getByText('could not be stored').waitFor();
    expect(await input(page).inputValue()).toBe('/monitor list');
  });

  test('the address names the thread: it survives a reload and opens from a link', async () => {
    const running = await startTestConsole();
    running.provider.answerWith('Here I am.');
    const said = await (await openTab(running.url)).say('/ask where?', { id: randomUUID() });
    if (said.shown !== 'thread') throw new Error('no thread');
    const { page } = await openPage(running, { path: `/#/general/${said.message}` });
    await thread(page).getByText('Here I am.').waitFor();
    await page.reload();
    await thread(page).getByText('Here I am.').waitFor();
    await page.goto(`${running.url}/#/general/gone`);
    await thread(page).getByText('This thread is gone').waitFor();
  });

  test('a reader who has scrolled up stays there, and is told of new messages', async () => {
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
    expect(await messages(page).evaluate((box) => box.scrollTop)).toBe(before);
    await page.getByRole('button', { name: 'New messages' }).click();
    await eventually(() =>
      messages(page).evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop < 5),
    );
  });
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
