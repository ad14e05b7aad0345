import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createIntakes } from '../../../../src/bot/intake/intakes.ts';
import type { Reply } from '../../../../src/bot/shared/invocation.ts';
import type { Person, Place } from '../../../../src/bot/shared/place.ts';
import { openLowdbStore } from '../../../../src/store/lowdb/lowdb-store.ts';
import { createScriptedPlatform } from '../../../helpers/bot/scripted-platform.ts';
import {
  CHANNEL,
  cardOf,
  startTestBot,
  type TestBotOptions,
  textOf,
} from '../../../helpers/bot.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { recordingLog } from '../../../helpers/recording-log.ts';
import { temporaryFolder } from '../../../helpers/temporary-folder.ts';

const admin: Person = { id: 'U9', name: 'Grace', mayManage: async (over) => over === 'place' };
const member: Person = { id: 'U1', name: 'Ada', mayManage: async () => false };
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

/** What a card shows to copy. */
const codeIn = (reply: Reply) =>
  cardOf(reply).parts.flatMap((part) => (part.kind === 'code' ? [part.text] : []));

test('an intake is made, shown once to whoever made it, listed and removed', async () => {
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
])('what to paste for %s is shown', async (kind, lines) => {
  const { say } = await start();
  expect(codeIn(await say(`/monitor intake add ${kind}`)).join('\n')).toMatch(lines);
});

test('an address that nothing beyond the machine reaches is said to be one', async () => {
  const { say } = await start({ hooksUrl: 'http://127.0.0.1:3000' });
  expect(said(await say('/monitor intake add generic'))).toMatch(
    /Only systems on Askwatch’s own machine.*PUBLIC_URL/,
  );
  const { say: sayInPublic } = await start();
  expect(said(await sayInPublic('/monitor intake add generic'))).not.toContain('PUBLIC_URL');
});

test('names are what people say: words after the kind, a kind alone, an id', async () => {
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

test('an intake knows how often its sender repeats itself', async () => {
  const folder = await temporaryFolder();
  const { say, stop } = await start({}, folder);
  await say('/monitor intake add alertmanager repeat=12h');
  await stop();
  const store = await openLowdbStore({ folder, log: recordingLog().log });
  const [intake] = (await createIntakes(store)).all();
  expect(intake).toMatchObject({ name: 'Alertmanager', repeatMs: 12 * 3_600_000 });
  await store.close();
});

test('a name that is taken is refused', async () => {
  const { say } = await start();
  await say('/monitor intake add generic Shop');
  expect(said(await say('/monitor intake add grafana shop'))).toContain(
    'already has an intake called “shop”',
  );
});

test('silences are made only where the operator says, and no credentials are shown or kept', async () => {
  const alertmanagerUrls = ['http://first.example:9093', 'https://user:hunter2@second.example/am'];
  const folder = await temporaryFolder();
  const { say } = await start({ alertmanagerUrls }, folder);
  const refused = said(
    await say('/monitor intake add alertmanager alertmanager=http://169.254.169.254/latest'),
  );
  expect(refused).toContain('http://first.example:9093, https://second.example/am');
  expect(refused).not.toContain('hunter2');
  await say('/monitor intake add grafana alertmanager=https://second.example/am/');
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const kept = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')),
  );
  expect(kept.join('\n')).toContain('https://second.example/am');
  expect(kept.join('\n')).not.toContain('hunter2');
});

test.each([
  '/monitor intake add generic',
  '/monitor intake remove Alerts',
  '/monitor intake test Alerts',
])('who does not manage the channel cannot say %s, and may look', async (line) => {
  const { say } = await start();
  await say('/monitor intake add generic');
  expect(said(await say(line, member))).toContain('Only people who can manage this channel can');
  expect(said(await say('/monitor intake', member))).toContain('1 intake in this channel');
});

test('a test tells an example in the channel, which its button ends', async () => {
  const { say, bot } = await start();
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
  const button = cardOf(tested).actions?.[0];
  expect(button?.label).toBe('End it');
  const ended = await bot.dispatch({
    ...{ id: 'end', place: CHANNEL, person: admin },
    request: { command: button?.command ?? '', values: button?.values ?? {} },
  });
  expect(ended).toEqual({ kind: 'nothing' });
  await eventually(() => platform.messages[0]?.card.tone === 'good');
  // There is another one whenever it is wanted, in the same message while that is new.
  await say('/monitor intake test grafana');
  await eventually(() => platform.messages[0]?.card.tone === 'warning');
  expect(said(await say('/monitor intake test shop'))).toContain(
    'No intake called “shop” in this channel',
  );
});
