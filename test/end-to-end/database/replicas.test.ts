import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openTab, repliesOf, snapshotOf, type Tab } from '../../helpers/console/test-console.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { startForBot } from '../../helpers/end-to-end/services.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
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

/** The programs of this test, all on one database, with models and monitors that are not ours. */
async function startWorld() {
  const { url: database, schema } = await testDatabase();
  const { provider, service, env: services } = await startForBot();
  const env = {
    ...{ DATABASE_URL: database, DATABASE_SCHEMA: schema, ...services },
    ALERT_CHANNELS: 'console:general',
  };
  const start = async () => await startAskwatch({ dataDir: await temporaryFolder(), env });
  return { provider, service, start };
}

describe.skipIf(!hasPostgres)('two programs on one database', () => {
  test('both answer; when one is killed in the middle of an answer the other goes on with it, and with the alerts', async () => {
    const { provider, service, start } = await startWorld();
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

    // Asked at one, answered there, and seen at both.
    provider.answerWith(['one ', 'two ', 'three.']);
    const [here, there] = [await openTab(first.url), await openTab(second.url)];
    const said = await there.say('/ask count');
    if (said.shown !== 'thread') throw new Error('no thread');
    for (const tab of [here, there]) await eventually(() => textHeard(tab) === 'one two three.');
    await eventually(() => service.requests.some(({ method }) => method === 'GET'));
    service.setStatus(shop.id, 'DOWN');
    await eventually(() => titlesHeard(there).some((title) => /Shop is down/.test(title)));

    // Killed in the middle of an answer.
    const letGo = provider.holdChunks(1);
    const cut = await here.say('/ask and again');
    if (cut.shown !== 'thread') throw new Error('no thread');
    await eventually(() => textHeard(there).endsWith('three.one '));
    await first.kill();
    letGo();
    const gone = await eventually(
      async () => {
        const [reply, ...more] = await repliesOf(second.url, cut.message);
        const body = reply?.body;
        return body?.kind === 'answer' && !body.growing && { body, more };
      },
      { withinMs: 60_000 },
    );
    expect(gone.body).toMatchObject({ text: 'one two three.' });
    expect(gone.body.note).toBeUndefined();
    expect(gone.more).toEqual([]);
    service.setStatus(shop.id, 'UP');
    await eventually(() => titlesHeard(there).some((title) => /Shop recovered/.test(title)));

    // A browser of the first comes back to the one that is left, and goes on.
    const back = await openTab(second.url, { cookie: here.cookie, lastEventId: here.lastEventId });
    await eventually(() => titlesHeard(back).some((title) => /Shop recovered/.test(title)));
    expect(back.heard.map(({ kind }) => kind)).not.toContain('snapshot');

    // What one that is asked to stop has not answered, a third one goes on with.
    const third = await start();
    const { messages } = await snapshotOf(await openTab(third.url));
    expect(messages.length).toBe(3);
    const again = provider.holdChunks(1);
    const left = await there.say('/ask once more');
    if (left.shown !== 'thread') throw new Error('no thread');
    await eventually(() => textHeard(there).endsWith('three.one '));
    const stopped = second.stop();
    await pause(3_000);
    again();
    expect(await stopped).toBe(0);
    await eventually(async () => {
      const [reply] = await repliesOf(third.url, left.message);
      return reply?.body.kind === 'answer' && reply.body.text === 'one two three.';
    });
    expect(await third.stop()).toBe(0);
  });

  test('one that stands still for too long goes on as another one, and answers again', async () => {
    const { provider, start } = await startWorld();
    const first = await start();
    const second = await start();
    provider.answerWith(['one ', 'two ', 'three.']);
    const letGo = provider.holdChunks(1);
    const tab = await openTab(first.url);
    const cut = await tab.say('/ask count');
    if (cut.shown !== 'thread') throw new Error('no thread');
    await eventually(() => textHeard(tab) === 'one ');
    process.kill(first.pid, 'SIGSTOP');
    await eventually(() => second.output().includes('continuing work left by another process'), {
      withinMs: 60_000,
    });
    letGo();
    const whole = async (url: string, message: string) => {
      const [reply] = await repliesOf(url, message);
      const body = reply?.body;
      return body?.kind === 'answer' && !body.growing && body.text === 'one two three.';
    };
    await eventually(() => whole(second.url, cut.message));
    process.kill(first.pid, 'SIGCONT');
    await eventually(() => first.output().includes('no longer counts as alive'));
    // What it still had of that answer changes nothing.
    await pause(1_000);
    expect(await whole(second.url, cut.message)).toBe(true);
    const asked = await (await openTab(first.url)).say('/ask count again');
    if (asked.shown !== 'thread') throw new Error('no thread');
    await eventually(() => whole(second.url, asked.message));
    for (const one of [first, second]) expect(await one.stop()).toBe(0);
  });
});
