import { describe, expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { openTab, repliesOf, snapshotOf, type Tab } from '../../helpers/console/test-console.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
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
  const provider = await startModelProvider({ models: ['gpt-5.6-luna'] });
  const service = await startMonitoringService({ limit: false });
  onTestFinished(async () => {
    await provider.close();
    await service.close();
  });
  const env = {
    DATABASE_URL: database,
    DATABASE_SCHEMA: schema,
    ASKWATCH_ROLES: 'bot,gateway,console',
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    OPENAI_API_KEY: provider.apiKey,
    OPENAI_BASE_URL: `${provider.url}/v1`,
    ALERT_POLL_SECONDS: '1',
    ALERT_CHANNELS: 'console:general',
  };
  const start = async () => await startAskwatch({ dataDir: await temporaryFolder(), env });
  return { provider, service, start };
}

describe.skipIf(!hasPostgres)('two programs on one database', () => {
  test('are both ready at once, one of them has the bot, and when it is killed the other one takes it over', async () => {
    const { provider, service, start } = await startWorld();
    const shop = service.add({ name: 'Shop' });
    const first = await start();
    const second = await start();
    expect(first.output()).not.toContain('runs in another process');
    expect(second.output()).toContain(
      'runs in another process; this one takes it over when that one ends',
    );
    for (const { url } of [first, second]) {
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      for (const path of ['/', '/status', '/account', '/status.json', '/console/account/models'])
        expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
      const asked = await fetch(`${url}/console/account/channels?days=7`);
      expect(asked.status).toBe(200);
    }

    // Asked at the one without the bot, answered by the other, and seen at both.
    provider.answerWith(['one ', 'two ', 'three.']);
    const [here, there] = [await openTab(first.url), await openTab(second.url)];
    const said = await there.say('/ask count');
    if (said.shown !== 'thread') throw new Error('no thread');
    for (const tab of [here, there]) await eventually(() => textHeard(tab) === 'one two three.');
    await eventually(() => service.requests.some(({ method }) => method === 'GET'));
    service.setStatus(shop.id, 'DOWN');
    await eventually(() => titlesHeard(there).some((title) => /Shop is DOWN/.test(title)));

    // Killed in the middle of an answer.
    const letGo = provider.holdChunks(1);
    const cut = await there.say('/ask and again');
    if (cut.shown !== 'thread') throw new Error('no thread');
    await eventually(() => textHeard(there).endsWith('three.one '));
    await first.kill();
    letGo();
    const asking = there.say('/ask is anybody there?');
    await eventually(() => second.output().includes('this process runs the role bot from now on'));
    const interrupted = await eventually(async () => {
      const [reply] = await repliesOf(second.url, cut.message);
      return reply?.body.kind === 'answer' && !reply.body.growing && reply.body;
    });
    expect(interrupted.note).toBeTruthy();
    const answered = await asking;
    if (answered.shown !== 'thread') throw new Error('no thread');
    await eventually(async () => {
      const [reply] = await repliesOf(second.url, answered.message);
      return reply?.body.kind === 'answer' && !reply.body.growing;
    });
    service.setStatus(shop.id, 'UP');
    await eventually(() => titlesHeard(there).some((title) => /Shop recovered/.test(title)));

    // A browser of the first comes back to the one that is left, and goes on.
    const back = await openTab(second.url, { cookie: here.cookie, lastEventId: here.lastEventId });
    await eventually(() => titlesHeard(back).some((title) => /Shop recovered/.test(title)));
    expect(back.heard.map(({ kind }) => kind)).not.toContain('snapshot');

    // And a third one waits again; asked to stop, the second gives the bot back at once.
    const third = await start();
    expect(third.output()).toContain('runs in another process');
    const { messages } = await snapshotOf(await openTab(third.url));
    expect(messages.length).toBeGreaterThan(3);
    expect(await second.stop()).toBe(0);
    await eventually(() => third.output().includes('this process runs the role bot from now on'));
    expect(await third.stop()).toBe(0);
  });

  test('one that stands still for too long ends with a sentence when another has taken the bot over', async () => {
    const { start } = await startWorld();
    const first = await start();
    const second = await start();
    process.kill(first.pid, 'SIGSTOP');
    await eventually(() => second.output().includes('this process runs the role bot from now on'));
    process.kill(first.pid, 'SIGCONT');
    expect(await first.exit).toBe(1);
    expect(first.output()).toContain(
      'another process has taken over the role bot, since this one was not heard of in time; start it again, and it waits for its turn',
    );
    expect((await fetch(`${second.url}/readyz`)).status).toBe(200);
    expect(await second.stop()).toBe(0);
  });
});
