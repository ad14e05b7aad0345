import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { openTab, repliesOf, snapshotOf, type Tab } from '../../helpers/console/test-console.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { startForBot } from '../../helpers/end-to-end/services.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** The text that a tab has heard, piece by piece. */
const textHeard = (tab: Tab) =>
  tab.heard.flatMap((event) => (event.kind === 'text' ? [event.text] : [])).join('');

const titlesHeard = (tab: Tab): string[] =>
  tab.heard.flatMap((event) =>
    event.kind === 'message' && event.listed.message.body.kind === 'card'
      ? [event.listed.message.body.card.title]
      : [],
  );

const NOTE = 'Interrupted: Askwatch was restarted before this answer was complete. Try again.';

/** The one reply of a thread, if it is an answer that does not grow any more. */
async function answerAt(url: string, thread: string) {
  const replies = await repliesOf(url, thread);
  const [reply] = replies;
  const body = reply?.body;
  if (replies.length !== 1 || body?.kind !== 'answer' || body.growing) return undefined;
  return { reply, text: body.text, note: body.note };
}

/** Waits until the answer has the note of an interrupted one. */
const interrupted = (url: string, thread: string) =>
  eventually(async () => {
    const answer = await answerAt(url, thread).catch(() => undefined);
    return answer?.note === NOTE && answer;
  });

/** The programs of this test, all on one database, with models and monitors that are not ours. */
async function startWorld() {
  const { url: database, schema } = await testDatabase();
  const { provider, service, env: services } = await startForBot();
  const env = {
    ...{ DATABASE_URL: database, DATABASE_SCHEMA: schema, ...services },
    ...{ ALERT_CHANNELS: 'console:general', ASKWATCH_ROLES: 'bot,gateway,console,monitoring' },
  };
  provider.answerWith(['one ', 'two ', 'three.']);
  const start = async () => await startAskwatch({ dataDir: await temporaryFolder(), env });
  async function addIntake() {
    const store = await openPostgresStore({
      ...{ url: database, schema, version: 'test' },
      log: recordingLog().log,
    });
    const place = { platform: 'console', channel: 'general' };
    const { token } = await (await createIntakes(store)).add(place, { kind: 'generic', by: 'me' });
    await store.close();
    return `/hooks/generic/${token}`;
  }
  return { provider, service, start, addIntake };
}

describe.skipIf(!hasPostgres)('two programs on one database', () => {
  test('the second passes on all that is for the bot, and takes over when the first is killed in mid-answer', async () => {
    const { provider, service, start, addIntake } = await startWorld();
    const shop = service.add({ name: 'Shop' });
    const first = await start();
    const second = await start();
    for (const { url } of [first, second]) {
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      for (const path of ['/', '/status', '/account', '/status.json', '/console/account/models'])
        expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
      const asked = await fetch(`${url}/console/account/channels?days=7`);
      expect(asked.status).toBe(200);
    }

    // Asked at the second, answered by the first, and seen at both.
    const [here, there] = [await openTab(first.url), await openTab(second.url)];
    const said = await there.say('/ask count');
    if (said.shown !== 'thread') throw new Error('no thread');
    for (const tab of [here, there]) await eventually(() => textHeard(tab) === 'one two three.');
    await eventually(() => service.requests.some(({ method }) => method === 'GET'));
    service.setStatus(shop.id, 'DOWN');
    await eventually(() => titlesHeard(there).some((title) => /Shop is down/.test(title)));
    const file = {
      channel: 'general',
      name: 'a.txt',
      data: Buffer.from('text').toString('base64'),
    };
    expect((await there.tell('files', file)).status).toBe(200);
    const hooked = await fetch(second.url + (await addIntake()), {
      method: 'POST',
      body: JSON.stringify({ key: 'disk', name: 'Disk is full', state: 'firing' }),
    });
    expect(hooked.status).toBe(200);
    await eventually(() => titlesHeard(here).some((title) => title.includes('Disk is full')));

    // Killed in the middle of an answer.
    const letGo = provider.holdChunks(1);
    const cut = await here.say('/ask and again');
    if (cut.shown !== 'thread') throw new Error('no thread');
    await eventually(() => textHeard(there).endsWith('three.one '));
    await first.kill();
    letGo();
    const ended = await interrupted(second.url, cut.message);
    const back = await openTab(second.url, { cookie: here.cookie });
    await snapshotOf(back);
    await back.press(ended.reply, 'Try again', { thread: cut.message });
    await eventually(async () =>
      (await repliesOf(second.url, cut.message)).some(
        ({ body }) => body.kind === 'answer' && body.text === 'one two three.' && !body.growing,
      ),
    );
    service.setStatus(shop.id, 'UP');
    await eventually(() => titlesHeard(back).some((title) => /Shop recovered/.test(title)));

    // One that is asked to stop gives the bot to another.
    const third = await start();
    expect(await second.stop()).toBe(0);
    const { messages } = await snapshotOf(await openTab(third.url));
    expect(messages.length).toBe(4);
    expect(await third.stop()).toBe(0);
  });

  test('one that stands still for too long has lost the bot when it wakes, and shows nothing more', async () => {
    const { provider, start } = await startWorld();
    const first = await start();
    const second = await start();
    const letGo = provider.holdChunks(1);
    const tab = await openTab(first.url);
    const cut = await tab.say('/ask count');
    if (cut.shown !== 'thread') throw new Error('no thread');
    await eventually(() => textHeard(tab) === 'one ');
    process.kill(first.pid, 'SIGSTOP');
    await interrupted(second.url, cut.message);
    letGo();
    process.kill(first.pid, 'SIGCONT');
    await eventually(() => first.output().includes('this process lost the bot'));
    await pause(1_000);
    // At both, since the first now asks the second.
    for (const { url } of [first, second]) {
      expect((await answerAt(url, cut.message))?.note).toBe(NOTE);
    }
    const asked = await (await openTab(first.url)).say('/ask count again');
    if (asked.shown !== 'thread') throw new Error('no thread');
    await eventually(
      async () => (await answerAt(second.url, asked.message))?.text === 'one two three.',
    );
    for (const one of [first, second]) expect(await one.stop()).toBe(0);
  });
});
