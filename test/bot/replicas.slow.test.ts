import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Invocation } from '../../src/bot/shared/invocation.ts';
import { type ModelProvider, startModelProvider } from '../fakes/model-provider.ts';
import { type MonitoringService, startMonitoringService } from '../fakes/monitoring-service.ts';
import { createWallPlatform, type Wall } from '../helpers/bot/wall.ts';
import { readAnswer, startTestBot } from '../helpers/bot.ts';
import { eventually } from '../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';

const WORDS = Array.from({ length: 60 }, (_, no) => ` w${no}`);
const WHOLE = WORDS.join('');

let count = 0;

/** Something that Ada says in a thread. */
function said(request: Invocation['request'], more: Partial<Invocation> = {}): Invocation {
  count += 1;
  return {
    ...{ id: `wall:${process.pid}:${count}`, request, thread: 't1' },
    place: { platform: 'wall', channel: 'C1' },
    person: { id: 'ada', name: 'Ada' },
    ...more,
  };
}

const ask = (question: string, more?: Partial<Invocation>) =>
  said({ command: 'ask', values: { question } }, more);
const press = (command: string, answer: string, more?: Partial<Invocation>) =>
  said({ command, values: { answer } }, { pressed: 'm1', ...more });

/** Bots of several processes on one database, all of which show on one wall. */
async function startBots(
  many: number,
  options: Parameters<typeof createWallPlatform>[1] = {},
  service?: MonitoringService,
) {
  const database = await testDatabase();
  const provider: ModelProvider = await startModelProvider();
  onTestFinished(() => provider.close());
  provider.answerWith(WORDS, { chunkMs: 15 });
  const wall: Wall = { messages: [] };
  const all = [];
  for (let no = 0; no < many; no += 1) {
    const store = await database.open();
    const { bot } = await startTestBot({ store, provider, ...(service && { service }) });
    const platform = createWallPlatform(wall, options);
    await platform.start(bot);
    await bot.start([platform]);
    all.push({ store, bot, platform });
  }
  return { ...database, provider, wall, all };
}

/** As when the process that does the one thing that is under way stands still: the database forgets it. */
const FORGOTTEN = `update #.member set until = clock_timestamp() - interval '1 second'
  where id in (select holder from #.claim where holder is not null and request is not null)`;

/** No document can be read, as while a server starts; all else is as ever. */
const UNREADABLE = `
  create function #.starts() returns boolean language plpgsql as $$
    begin raise 'the database system is starting up' using errcode = '57P03'; end $$;
  alter table #.document rename to document_there;
  create view #.document as select * from #.document_there where #.starts()`;
const READABLE = 'drop view #.document; alter table #.document_there rename to document';

describe.skipIf(!hasPostgres)('bots of several processes', () => {
  test('answer what one of them was asked when it dies, in the same message, under the same id', async () => {
    const { all, wall, query, provider } = await startBots(2);
    void all[0]?.platform.hear(ask('why?'));
    const message = await eventually(() => wall.messages.find(({ text }) => text.length > 20));
    const [stop] = message.actions;
    await query(FORGOTTEN);
    await eventually(() => provider.calls.length === 2);
    await eventually(() => message.end !== undefined);
    await pause(500);
    expect(wall.messages).toEqual([message]);
    expect(message).toMatchObject({ text: WHOLE, end: '', ends: 1 });
    expect(stop?.values?.answer).toBe(message.actions[0]?.values?.answer);
    expect(await query('select count(*)::int as open from #.claim where not done')).toEqual([
      { open: 0 },
    ]);
    expect(
      await query("select body from #.document where collection = 'unfinished-answers'"),
    ).toEqual([expect.objectContaining({ body: null })]);
  });

  test('show one answer when its question comes again to another one before that goes on with it', async () => {
    const { all, wall, query } = await startBots(2);
    const asked = ask('why?');
    void all[0]?.platform.hear(asked);
    const message = await eventually(() => wall.messages.find(({ text }) => text.length > 20));
    await query(FORGOTTEN);
    expect(await all[1]?.platform.hear(asked)).toBe('nothing');
    await eventually(() => message.end !== undefined);
    expect(wall.messages).toEqual([message]);
    expect(message).toMatchObject({ text: WHOLE, end: '', ends: 1 });
  });

  test('do what is proposed once, whichever of them hear the press and however often', async () => {
    const service = await startMonitoringService({ limit: false });
    onTestFinished(() => service.close());
    const { all, provider } = await startBots(3, {}, service);
    const calls = [{ name: 'create_monitor', arguments: '{"target":"https://example.com"}' }];
    provider.answerWith((body) =>
      body.messages.at(-1).role === 'tool' ? 'It waits for you.' : { calls },
    );
    const [first] = all;
    const asked = await first?.bot.dispatch(ask('watch it'));
    if (!asked) throw new Error('Nobody answers.');
    const { end } = await readAnswer(asked, 't1');
    const [confirm] = end.cards?.[0]?.actions ?? [];
    if (!confirm) throw new Error('There is nothing to confirm.');
    const { command, values } = confirm;
    const presses = [...all, ...all].map(({ bot }) =>
      bot.dispatch(said({ command, values }, { pressed: 'm1' })),
    );
    const replies = await Promise.all(presses);
    expect(replies.filter((reply) => reply.kind === 'card' && reply.inPlace)).toHaveLength(1);
    expect(service.monitors.map(({ target }) => target)).toEqual(['https://example.com']);
  });

  test('go on with it once they can when the database fails them as they begin to', async () => {
    const { all, wall, query } = await startBots(2);
    void all[0]?.platform.hear(ask('why?'));
    const message = await eventually(() => wall.messages.find(({ text }) => text.length > 20));
    await query(UNREADABLE);
    await query(FORGOTTEN);
    await eventually(async () => {
      const [row] = await query('select takeovers from #.claim where not done');
      return row?.takeovers === 1;
    });
    await pause(1_500);
    await query(READABLE);
    await eventually(() => message.end !== undefined);
    expect(wall.messages).toEqual([message]);
    expect(message).toMatchObject({ text: WHOLE, end: '', ends: 1 });
  });

  test('do what one of them was asked and had not begun when it died', async () => {
    const { all, wall, query, provider } = await startBots(2);
    const release = provider.holdAnswers();
    const heard = ask('why?');
    const { dispatch } = all[0]?.bot ?? {};
    // Its platform never comes to showing it.
    const reply = await dispatch?.(heard);
    expect(reply?.kind).toBe('answer');
    await query(FORGOTTEN);
    await eventually(() => provider.calls.length === 1);
    release();
    await eventually(() => wall.messages[0]?.end !== undefined);
    expect(wall.messages).toMatchObject([{ text: WHOLE, ends: 1 }]);
    expect(await dispatch?.(heard)).toEqual({ kind: 'nothing' });
  });

  test.each([false, true])(
    'end with a note what two of them did not finish (%s)',
    async (isHasty) => {
      const { all, wall, query, provider } = await startBots(3, { isHasty });
      provider.answerWith(WORDS, { chunkMs: 100 });
      void all[0]?.platform.hear(ask('why?'));
      await eventually(() => wall.messages[0]?.text);
      await query(FORGOTTEN);
      await eventually(() => provider.calls.length === 2);
      await eventually(async () => {
        const [row] = await query('select takeovers from #.claim where not done');
        return row?.takeovers === 1;
      });
      await query(FORGOTTEN);
      await eventually(() => wall.messages[0]?.end !== undefined);
      await pause(300);
      expect(wall.messages).toMatchObject([
        { end: expect.stringContaining('two Askwatch processes'), ends: 1 },
      ]);
      expect(wall.messages[0]?.actions).toHaveLength(1);
      expect(provider.calls).toHaveLength(2);
    },
  );

  test('stop an answer at whichever the button is pressed, also when the one that gave it is dead', async () => {
    const { all, wall, query, provider } = await startBots(2);
    provider.answerWith(WORDS, { chunkMs: 200 });
    for (const isDead of [false, true]) {
      wall.messages.length = 0;
      void all[0]?.platform.hear(ask('why?'));
      const message = await eventually(() => wall.messages.find(({ text }) => text !== ''));
      const answer = String(message.actions[0]?.values?.answer);
      if (isDead) await query(FORGOTTEN);
      await all[1]?.platform.hear(press('answer stop', answer));
      await eventually(() => message.end !== undefined);
      expect(message).toMatchObject({ end: expect.stringContaining('Stopped by Ada.'), ends: 1 });
      expect(all.flatMap(({ platform }) => platform.cards)).toEqual([]);
    }
    await all[1]?.platform.hear(press('answer stop', 'none'));
    expect(all[1]?.platform.cards).toEqual([expect.stringContaining('has already ended')]);
  });

  test('answer a thread’s questions one after another, whichever hears them', async () => {
    const { all, wall, provider } = await startBots(3);
    const heard: Array<Promise<unknown>> = [];
    for (let no = 0; no < 5; no += 1) {
      heard.push(all[no % 3]?.platform.hear(ask(`question ${no}`)) ?? Promise.resolve());
      await eventually(() => wall.messages.length === no + 1);
      await pause(30);
    }
    const growing = () => wall.messages.filter(({ text, end }) => text !== '' && end === undefined);
    const most: number[] = [];
    const watching = setInterval(() => most.push(growing().length), 2);
    await Promise.all(heard);
    clearInterval(watching);
    expect(Math.max(...most)).toBe(1);
    expect(wall.messages.map(({ text, ends }) => [text, ends])).toEqual(
      Array.from({ length: 5 }, () => [WHOLE, 1]),
    );
    // Each was told to the model with those before it.
    const told = provider.calls.map(({ body }) => body.messages.length);
    expect(told).toEqual([2, 4, 6, 8, 10]);
  });

  test('make an answer anew once, however many press at several of them', async () => {
    const { all, wall, provider } = await startBots(3);
    await all[0]?.platform.hear(ask('why?'));
    const again = wall.messages[0]?.actions.find(({ command }) => command === 'answer again');
    const answer = String(again?.values?.answer);
    await Promise.all(
      all.map(({ platform }, no) =>
        platform.hear(press('answer again', answer, { person: { id: `p${no}`, name: `P${no}` } })),
      ),
    );
    expect(wall.messages).toHaveLength(2);
    expect(provider.calls).toHaveLength(2);
  });

  test('hand the press that shares a private answer to the one that has it', async () => {
    const { all, wall, query } = await startBots(2);
    const privately = { command: 'ask', values: { question: 'the secret of Ada', private: true } };
    await all[0]?.platform.hear(said(privately, { thread: undefined as unknown as string }));
    const [shown] = wall.messages.splice(0);
    const share = shown?.actions.find(({ command }) => command === 'answer share');
    const answer = String(share?.values?.answer);
    // Not by somebody else.
    const other = { person: { id: 'bob', name: 'Bob' } };
    await all[1]?.platform.hear(press('answer share', answer, other));
    expect(all[1]?.platform.cards).toEqual([expect.stringContaining('can no longer be shared')]);
    await all[1]?.platform.hear(press('answer share', answer));
    await eventually(() => wall.messages[0]?.end !== undefined);
    expect(wall.messages).toMatchObject([{ text: WHOLE, thread: 't1', ends: 1 }]);
    // For everyone by now, it stands with the answers under way until its end is noted.
    const underWay =
      "select from #.document where collection = 'unfinished-answers' and body is not null";
    await eventually(async () => (await query(underWay)).length === 0);
    const stored = await query(`select body::text from #.document
      where collection <> 'conversations' union all select request::text from #.claim
      union all select body::text from #.event`);
    expect(JSON.stringify(stored)).not.toContain('secret of Ada');
    expect(JSON.stringify(stored)).not.toContain(WHOLE.slice(0, 30));
  });

  test('tell who asked in private to ask again when that process dies before it answers', async () => {
    const { all, query } = await startBots(2);
    const values = { question: 'the secret of Ada', private: true };
    await all[0]?.bot.dispatch(said({ command: 'ask', values }));
    const kept = JSON.stringify(await query('select request::text from #.claim'));
    expect(kept).toContain('answer');
    expect(kept).not.toContain('request\\"');
    await query(FORGOTTEN);
    const cards = () => all.flatMap(({ platform }) => platform.cards);
    await eventually(() => cards().length > 0);
    expect(cards()).toEqual([expect.stringContaining('ask again')]);
  });

  test.each([1, 3])('go on with what could not be shown in %i tries', async (left) => {
    const { all, wall } = await startBots(2, { failing: { left } });
    const asked = ask('why?');
    await expect(all[0]?.platform.hear(asked)).rejects.toThrow('cannot be written on');
    await eventually(() => wall.messages[0]?.end !== undefined);
    expect(wall.messages).toMatchObject([{ text: WHOLE, end: '', ends: 1 }]);
    expect(all.flatMap(({ platform }) => platform.cards)).toEqual([]);
    expect(await all[1]?.bot.dispatch(asked)).toEqual({ kind: 'nothing' });
  });

  test('leave their answers to the others when they stop', async () => {
    const { all, wall, provider } = await startBots(2);
    provider.answerWith(WORDS, { chunkMs: 100 });
    void all[0]?.platform.hear(ask('why?'));
    await eventually(() => wall.messages[0]?.text);
    await all[0]?.bot.stop();
    expect(wall.messages[0]?.end).toBeUndefined();
    provider.answerWith(WORDS, { chunkMs: 1 });
    await all[0]?.store.close();
    await eventually(() => wall.messages[0]?.end !== undefined);
    expect(wall.messages).toMatchObject([{ text: WHOLE, end: '', ends: 1 }]);
  });

  test.each(['/ask private=true x', '/ask private=yes x', '/ask  PRIVATE=true x'])(
    'write nothing of what is asked in private: %s',
    async (line) => {
      const { all, query } = await startBots(1);
      await all[0]?.bot.dispatch(said({ line }));
      const rows = JSON.stringify(await query('select request::text from #.claim'));
      expect(rows).not.toContain('request\\"');
    },
  );

  test('keep what people ask unreadable for who sees the rows', async () => {
    const { all, query } = await startBots(1);
    const target = 'https://ada:hunter2@shop.example';
    await all[0]?.bot.dispatch(said({ command: 'ask', values: { question: target } }));
    const rows = JSON.stringify(await query('select request::text from #.claim'));
    expect(rows).toContain('request\\"');
    expect(rows).not.toContain('hunter2');
  });
});
