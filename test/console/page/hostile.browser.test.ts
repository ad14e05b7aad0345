import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { ATTACKS } from '../../helpers/console/attacks.ts';
import { input, messages, thread } from '../../helpers/console/open-page.ts';
import { openPage, say } from '../../helpers/console/open-playground.ts';
import { ALERTING, startTestConsole } from '../../helpers/console/test-console.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

inBrowser('hostile text in the browser', () => {
  test('hostile Markdown runs nothing, calls no other server and has only allowed links', async () => {
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
    // The caret is ours too, and goes when the answer is over.
    await eventuallyEquals(() => markdown.locator('.caret').count(), 0);
    await eventuallyEquals(
      () =>
        markdown
          // The button that copies code is ours.
          .locator('img, svg:not(.copy *), script, style, iframe, form, input, link, object')
          .count(),
      0,
    );
    expect(await markdown.locator('button:not(.copy)').count()).toBe(0);
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
      // Named in plain words; a reader may follow them.
      'https://evil.example',
      'https://evil.example/frame',
      'https://evil.example/pixel.png',
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
    expect(attributes.filter((name) => /^on|^id$/.test(name))).toEqual([]);
    expect(await markdown.locator('[style]').count()).toBe(0);
    const classes = await markdown
      .locator('[class]')
      .evaluateAll((all) => all.map((one) => one.getAttribute('class')));
    expect([...new Set(classes)].sort()).toEqual(['code-block', 'code-head', 'copy', 'icon']);
    await eventuallyEquals(() => page.evaluate('window.hacked'), undefined);
    expect(complaints).toEqual([]);
  });

  test('hostile names, targets, errors and commands are shown as plain letters', async () => {
    const service = await startMonitoringService({ limit: false });
    const running = await startTestConsole({ service, settings: ALERTING });
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
        {
          kind: 'facts',
          facts: [{ label: 'x', value: { text: ATTACKS, url: 'javascript:hacked=1' } }],
        },
        {
          kind: 'findings',
          heading: ATTACKS,
          items: [
            { text: ATTACKS, url: ATTACKS },
            { text: ATTACKS, url: 'javascript:hacked=1' },
          ],
        },
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

    await eventuallyEquals(
      () =>
        page.locator('img, script:not([src]), iframe, form:not(.composer), .scrolled a').count(),
      0,
    );
    await eventuallyEquals(() => page.evaluate('window.hacked'), undefined);
    expect(complaints).toEqual([]);
    await service.close();
  });
});
