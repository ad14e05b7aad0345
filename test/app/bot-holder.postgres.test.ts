import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { BotHolder } from '../../src/app/bot-holder.ts';
import type { MadePlatform } from '../../src/app/platform-supervisor.ts';
import type { Bot, OpenBot } from '../../src/bot/platform.ts';
import type { Invocation } from '../../src/bot/shared/invocation.ts';
import { LeaseLostError } from '../../src/store/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { recordingLog } from '../helpers/recording-log.ts';

/** Short times, after which a process counts as dead. */
const SHORT = { times: { ttlMs: 4_000, beatMs: 300 } };

const invocation = (id: string): Invocation => ({
  id,
  request: { line: '/ask' },
  place: { platform: 'toy', channel: 'garden' },
  person: { id: 'ada', name: 'Ada' },
});

const NEVER = new Promise<never>(() => {});

/** The actions of all processes, in order: `a connects`, `a begins`, `a did 1`, … */
type Told = string[];

/** A process that may hold the bot: a platform that hears what the test says, and a bot that notes what it does. */
async function startProcess(
  name: string,
  options: { store: Store; told: Told; fails?: () => Error | undefined; connects?: Promise<void> },
) {
  const { store, told, fails, connects } = options;
  const { log, lines } = recordingLog();
  let hears: Bot | undefined;
  const fatal: unknown[] = [];
  const platform = (isHeld: () => boolean): MadePlatform =>
    ({
      name: 'toy',
      async start(bot: Bot) {
        told.push(`${name} connects`);
        await connects;
        hears = bot;
      },
      async pause() {
        told.push(`${name} pauses`);
        hears = undefined;
      },
      async stop() {
        told.push(`${name} disconnects ${isHeld() ? 'as holder' : 'late'}`);
        hears = undefined;
      },
    }) as unknown as MadePlatform;
  const holder = new BotHolder(
    {
      known: { commands: [], forms: [] },
      load: async () => {},
      createPlatforms: async ({ isHeld }) => ({
        platforms: [platform(isHeld)],
        refresh: async () => {},
      }),
      createConsole: async () => undefined,
      async createBot({ store: own, lease }) {
        const failure = fails?.();
        if (failure) throw failure;
        const done = own.claims({ name: 'seen', schema: z.never(), keptMs: 60_000 });
        return {
          async dispatch({ id }: Invocation) {
            if (!lease.isHeld() || !(await done.claim(id))) return { kind: 'nothing' };
            told.push(`${name} did ${id}`);
            await done.finish(id);
            return { kind: 'nothing' };
          },
          interrupt: () => () => {},
          async start() {
            told.push(`${name} begins`);
          },
          async stop() {
            told.push(`${name} ends`);
          },
        } as unknown as OpenBot;
      },
    },
    {
      store,
      ownUrl: () => `http://${name}`,
      onFatal: (error) => fatal.push(error),
      log,
    },
  );
  onTestFinished(() => holder.stop());
  return {
    holder,
    fatal,
    said: () => lines.map(({ msg }) => msg).join('\n'),
    hear: (id: string) => hears?.dispatch(invocation(id)),
    isConnected: () => hears !== undefined,
  };
}

describe.skipIf(!hasPostgres)('of processes on one database', () => {
  test('the first has the bot, and the others know where it is', async () => {
    const { open } = await testDatabase();
    const told: Told = [];
    const a = await startProcess('a', { store: await open(SHORT), told });
    const b = await startProcess('b', { store: await open(SHORT), told });
    await a.holder.start();
    expect(a.holder.where()).toBe('here');
    await b.holder.start();
    await eventually(() => b.holder.where());
    expect(b.holder.where()).toEqual({ url: 'http://a' });
    expect(b.holder.bot).toBeUndefined();
    expect(told).toEqual(['a connects', 'a begins']);
    await a.hear('1');
    expect(told.at(-1)).toBe('a did 1');
  });

  test('one that stops lets another connect first, and nothing that either hears meanwhile is lost or done twice', async () => {
    const { open } = await testDatabase();
    const told: Told = [];
    const a = await startProcess('a', { store: await open(SHORT), told });
    const b = await startProcess('b', { store: await open(SHORT), told });
    await a.holder.start();
    await b.holder.start();
    const stopped = a.holder.stop();
    await eventually(() => b.isConnected());
    // Both are connected for a moment, as at Discord: each hears what is said.
    const heard: Array<Promise<unknown> | undefined> = [];
    for (const id of ['1', '2', '3']) heard.push(a.hear(id), b.hear(id));
    await stopped;
    heard.push(b.hear('4'));
    await Promise.all(heard);
    const done = told.filter((one) => one.includes('did')).map((one) => one.slice(-1));
    expect(done.sort()).toEqual(['1', '2', '3', '4']);
    expect(told.filter((one) => !one.includes('did'))).toEqual([
      ...['a connects', 'a begins', 'b connects', 'a pauses'],
      ...['a ends', 'a disconnects as holder', 'b begins'],
    ]);
    await eventually(() => a.holder.where() !== undefined || b.holder.where() === 'here');
    expect(b.holder.where()).toBe('here');
  });

  test('nobody serves during a hand-over, and a waiting process notices its end', async () => {
    const { open } = await testDatabase();
    const told: Told = [];
    const a = await startProcess('a', { store: await open(SHORT), told });
    const b = await startProcess('b', { store: await open(SHORT), told });
    const c = await startProcess('c', { store: await open(SHORT), told });
    for (const { holder } of [a, b, c]) await holder.start();
    await eventually(() => c.holder.where());
    const seen: unknown[] = [];
    const watching = new AbortController();
    const looking = (async () => {
      while (!watching.signal.aborted) {
        seen.push(JSON.stringify(c.holder.where()));
        await c.holder.changed(watching.signal).catch(() => {});
      }
    })();
    await a.holder.stop();
    await eventually(() => [b, c].some(({ holder }) => holder.where() === 'here'));
    watching.abort();
    await looking;
    const [next] = [b, c].filter(({ holder }) => holder.where() === 'here');
    expect(next).toBeDefined();
    expect(seen[0]).toBe('{"url":"http://a"}');
    expect(seen).toContain(undefined);
  });

  test('one that stands still loses it, stores nothing more, and may have it again', async () => {
    const { open, query } = await testDatabase();
    const told: Told = [];
    const store = await open(SHORT);
    const a = await startProcess('a', { store, told });
    const b = await startProcess('b', { store: await open(SHORT), told });
    await a.holder.start();
    await b.holder.start();
    // The database drops the process, as if it had been stopped with SIGSTOP.
    await query(
      `update #.member set until = clock_timestamp() - interval '1 s'
       where id = (select holder from #.lease where kind = 'bot')`,
    );
    await eventually(() => b.holder.where() === 'here');
    await eventually(() => told.includes('a disconnects late'));
    await eventually(() => JSON.stringify(a.holder.where()) === '{"url":"http://b"}');
    expect(a.said()).toContain('this process lost the bot');
    await b.holder.stop();
    await eventually(() => a.holder.where() === 'here');
    await a.hear('9');
    expect(told.at(-1)).toBe('a did 9');
  });

  test('a bot that cannot be made ends the program, unless that passes by itself', async () => {
    const { open } = await testDatabase();
    const told: Told = [];
    let failure: Error | undefined = new Error('The token is wrong.');
    const a = await startProcess('a', { store: await open(SHORT), told, fails: () => failure });
    await expect(a.holder.start()).rejects.toThrow('The token is wrong.');
    failure = new LeaseLostError();
    const b = await startProcess('b', { store: await open(SHORT), told });
    await b.holder.start();
    const c = await startProcess('c', { store: await open(SHORT), told, fails: () => failure });
    await c.holder.start();
    await b.holder.stop();
    await eventually(() => c.said().includes('could not start the bot here; standing by'));
    failure = undefined;
    // It was promised the bot, and would be waited for.
    await eventually(() => c.holder.where() === 'here', { withinMs: 5_000 });
    expect(c.fatal).toEqual([]);
  });

  test('one that stops while its platform still connects ends it, and another has the bot', async () => {
    const { open } = await testDatabase();
    const told: Told = [];
    const a = await startProcess('a', { store: await open(SHORT), told, connects: NEVER });
    const b = await startProcess('b', { store: await open(SHORT), told });
    const started = a.holder.start();
    await eventually(() => told.includes('a connects'));
    await b.holder.start();
    await a.holder.stop();
    await started;
    await eventually(() => b.holder.where() === 'here');
    expect(told).toEqual([
      ...['a connects', 'a ends', 'a disconnects as holder'],
      ...['b connects', 'b begins'],
    ]);
    expect(a.fatal).toEqual([]);
  });

  test('one that stops while it connects to succeed another waits for no platform', async () => {
    const { open } = await testDatabase();
    const told: Told = [];
    const a = await startProcess('a', { store: await open(SHORT), told });
    const b = await startProcess('b', { store: await open(SHORT), told, connects: NEVER });
    await a.holder.start();
    await b.holder.start();
    const stopped = a.holder.stop();
    await eventually(() => told.includes('b connects'));
    await b.holder.stop();
    expect(told).toContain('b disconnects late');
    await stopped;
    expect(b.fatal).toEqual([]);
  });
});
