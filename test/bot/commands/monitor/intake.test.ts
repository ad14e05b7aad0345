import { expect, test } from 'vitest';
import type { Reply } from '../../../../src/bot/shared/invocation.ts';
import type { Person, Place } from '../../../../src/bot/shared/place.ts';
import { createScriptedPlatform } from '../../../helpers/bot/scripted-platform.ts';
import {
  CHANNEL,
  cardOf,
  startTestBot,
  type TestBotOptions,
  textOf,
} from '../../../helpers/bot.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { temporaryFolder } from '../../../helpers/temporary-folder.ts';
import { storedText } from '../../../helpers/test-store.ts';

const admin: Person = { id: 'U9', name: 'Grace', mayManage: async (over) => over === 'place' };
const OTHER: Place = { platform: 'console', channel: 'other' };

async function start(settings: TestBotOptions['settings'] = {}, folder?: string) {
  const hooksUrl = 'https://askwatch.example';
  const { say, ...rest } = await startTestBot({
    settings: { hooksUrl, ...settings },
    folder,
  });
  return {
    ...rest,
    say: (line: string, person = admin, place = CHANNEL) => say(line, { person, place }),
  };
}

const said = (reply: Reply) => textOf(cardOf(reply));

/** Texts to copy on a card. */
const codeIn = (reply: Reply) =>
  cardOf(reply).parts.flatMap((part) => (part.kind === 'code' ? [part.text] : []));

test('an intake is added, shown once to its person, listed and removed', async () => {
  const { say } = await start();
  const made = await say('/monitor intake add alertmanager');
  expect(made).toMatchObject({ kind: 'card', private: true });
  expect(said(made)).toContain('Intake “Alertmanager” added');
  expect(codeIn(made)).toEqual([
    expect.stringMatching(
      /^receivers:\n {2}- name: askwatch\n {4}webhook_configs:\n {6}- url: https:\/\/askwatch\.example\/hooks\/alertmanager\/[A-Za-z0-9]{32}\n {8}send_resolved: true$/,
    ),
  ]);
  const token = codeIn(made)[0]?.match(/[A-Za-z0-9]{32}/)?.[0] ?? '';
  const listed = await say('/monitor intake');
  expect(listed).toMatchObject({ kind: 'card', private: true });
  expect(said(listed)).toMatch(
    /1 intake in this channel\n.*\nAlertmanager \| Alertmanager \| never \| Grace \| /,
  );
  expect(said(listed)).not.toContain(token.slice(8));
  expect(said(await say('/monitor intake list', admin, OTHER))).toContain('No intakes yet');
  expect(said(await say('/monitor intake remove Alertmanager', admin, OTHER))).toContain(
    'This channel has no intakes',
  );
  const removed = await say('/monitor intake remove alertmanager');
  expect(removed).toMatchObject({ kind: 'card', private: false });
  expect(said(removed)).toContain('Intake “Alertmanager” removed');
  expect(said(removed)).toContain('By Grace');
  expect(said(await say('/monitor intake'))).toContain('No intakes yet');
});

test.each([
  ['grafana', /^https:\/\/askwatch\.example\/hooks\/grafana\/[A-Za-z0-9]{32}$/],
  ['pagerduty', /^https:\/\/askwatch\.example\/v2\/enqueue\n[A-Za-z0-9]{32}$/],
  ['uptime-kuma', /^https:\/\/askwatch\.example\/hooks\/uptime-kuma\/[A-Za-z0-9]{32}$/],
  ['generic', /^curl .* https:\/\/askwatch\.example\/hooks\/generic\/[A-Za-z0-9]{32}$/],
])('an intake for %s shows what to paste', async (kind, lines) => {
  const { say } = await start();
  expect(codeIn(await say(`/monitor intake add ${kind}`)).join('\n')).toMatch(lines);
});

test('an intake without a public address says that only this machine reaches it', async () => {
  const { say } = await start({ hooksUrl: 'http://127.0.0.1:3000' });
  expect(said(await say('/monitor intake add generic'))).toMatch(
    /Only systems on Askwatch’s own machine.*PUBLIC_URL/,
  );
  const { say: sayInPublic } = await start();
  expect(said(await sayInPublic('/monitor intake add generic'))).not.toContain('PUBLIC_URL');
});

test('an intake is found by its name, its kind or its id', async () => {
  const { say } = await start();
  await say('/monitor intake add generic Night watch');
  await say('/monitor intake add generic name="pagerduty events"');
  await say('/monitor intake add grafana');
  const list = said(await say('/monitor intake list'));
  expect(list).toContain('3 intakes in this channel');
  expect(said(await say('/monitor intake list night'))).toContain('1 intake in this channel');
  expect(said(await say('/monitor intake list nowhere'))).toContain('No matching intake');
  expect(said(await say('/monitor intake remove pagerduty events'))).toContain(
    'Intake “pagerduty events” removed',
  );
  expect(said(await say('/monitor intake remove generic'))).toContain(
    'Intake “Night watch” removed',
  );
  const id = / ([A-Za-z0-9]{8})$/m.exec(said(await say('/monitor intake')))?.[1];
  expect(said(await say('/monitor intake remove Shop'))).toContain(
    'No intake called “Shop” in this channel. It has “Grafana”.',
  );
  expect(said(await say(`/monitor intake remove ${id}`))).toContain('Intake “Grafana” removed');
});

test.each([
  ['/monitor intake add', 'Name the system that sends'],
  ['/monitor intake add fax', 'Name the system that sends'],
  ['/monitor intake remove', 'Name the intake'],
  ['/monitor intake remove x alertmanager=http://a.example', '“alertmanager” only works with add'],
  ['/monitor intake add alertmanager alertmanager=http://a.example', 'ALERTMANAGER_URL'],
  ['/monitor intake remove x repeat=12h', '“repeat” only works with add'],
  ['/monitor intake add alertmanager repeat=often', 'Use 30s, 5m, 2h or 1d'],
  ['/monitor intake add alertmanager repeat=25h', 'Choose 1 minute to 1 day'],
])('%s is refused, and changes nothing', async (line, why) => {
  const { say } = await start();
  expect(said(await say(line))).toContain(why);
  expect(said(await say('/monitor intake'))).toContain('No intakes yet');
});

test('an intake accepts only the operator’s Alertmanagers, and stores no credentials', async () => {
  const alertmanagerUrls = ['http://first.example:9093', 'https://user:hunter2@second.example/am'];
  const folder = await temporaryFolder();
  const { say } = await start({ alertmanagerUrls }, folder);
  const refused = said(
    await say('/monitor intake add alertmanager alertmanager=http://169.254.169.254/latest'),
  );
  expect(refused).toContain('http://first.example:9093, https://second.example/am');
  expect(refused).not.toContain('hunter2');
  await say('/monitor intake add grafana alertmanager=https://second.example/am/');
  const stored = await storedText(folder);
  expect(stored).toContain('https://second.example/am');
  expect(stored).not.toContain('hunter2');
});

test('a test posts an example alert, which its button ends', async () => {
  const { say, press, bot } = await start();
  const platform = createScriptedPlatform('console');
  await bot.start([platform]);
  await say('/monitor intake add grafana');
  const tested = await say('/monitor intake test grafana');
  expect(tested).toMatchObject({ kind: 'card', private: true });
  await eventually(() => platform.messages.length === 1);
  const [message] = platform.messages;
  expect(message?.channel).toBe('general');
  expect(message?.card.title).toContain('Test alert for Grafana');
  expect(message?.card.tone).toBe('warning');
  expect(await press(tested, 'End it', { person: admin })).toEqual({ kind: 'nothing' });
  await eventually(() => platform.messages[0]?.card.tone === 'good');
  // Another test soon after reopens the same message.
  await say('/monitor intake test grafana');
  await eventually(() => platform.messages[0]?.card.tone === 'warning');
  expect(said(await say('/monitor intake test shop'))).toContain(
    'No intake called “shop” in this channel',
  );
});
