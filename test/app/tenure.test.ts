import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { MadePlatform } from '../../src/app/platform-supervisor.ts';
import { type ConnectingPlatforms, Tenure, type TenureParts } from '../../src/app/tenure.ts';
import type { Bot, OpenBot } from '../../src/bot/platform.ts';
import { LeaseLostError } from '../../src/store/errors.ts';
import type { Lease, Store } from '../../src/store/store.ts';
import { eventually } from '../helpers/eventually.ts';
import { holdTimers } from '../helpers/hold-timers.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { openTestStore } from '../helpers/test-store.ts';

const NEVER = new Promise<never>(() => {});

/** A tenure of toy parts, which tell in order what happens; `parts` take the place of some. */
async function open(parts: Partial<TenureParts> = {}) {
  const { log, lines } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const told: string[] = [];
  const heard: Promise<unknown>[] = [];
  let hears: Bot | undefined;

  const platform = (name: string, isHeld: () => boolean): MadePlatform => ({
    name,
    async start(bot) {
      told.push(`${name} starts`);
      hears = bot;
    },
    async pause() {
      told.push(`${name} pauses`);
    },
    async stop() {
      told.push(`${name} stops ${isHeld() ? 'as holder' : 'late'}`);
    },
    // Every platform asks right before the request.
    async post({ id }) {
      if (!isHeld()) throw new Error('It is not held.');
      told.push(`${name} posts ${id}`);
      return { message: id, thread: id };
    },
    async update() {},
    async announce() {},
  });

  const createBot = (isHeld: () => boolean) =>
    ({
      async dispatch({ id }: { id: string }) {
        told.push(`did ${id} ${isHeld() ? 'as holder' : 'late'}`);
        return { kind: 'nothing' };
      },
      async start(platforms: readonly MadePlatform[]) {
        told.push(`bot starts with ${platforms.map(({ name }) => name).join(' and ')}`);
      },
      async stop() {
        told.push('bot stops');
      },
      interrupt: () => () => {},
    }) as unknown as OpenBot;

  const tenure = new Tenure(
    {
      known: { commands: [], forms: [] },
      async createBot({ lease }) {
        told.push('bot is made');
        return createBot(() => lease.isHeld());
      },
      load: async () => {},
      createPlatforms: async ({ isHeld }) => connecting(platform('toy', isHeld)),
      async createConsole({ isHeld }) {
        told.push('console is made');
        return platform('console', isHeld);
      },
      ...parts,
    },
    { store, log },
  );

  async function takeLease(): Promise<Lease> {
    const lease = await store.lease('bot');
    if (!lease) throw new Error('The lease is taken.');
    return lease;
  }

  return {
    ...{ tenure, told, lines, store, takeLease, platform },
    messages: () => lines.map(({ msg }) => msg),
    /** A person writes a message, which the platform passes to the bot. */
    hear(id: string) {
      const invocation = { id, request: { line: '/ask' }, person: { id: 'ada', name: 'Ada' } };
      const place = { platform: 'toy', channel: 'garden' };
      const reply = hears?.dispatch({ ...invocation, place });
      if (reply) heard.push(reply);
    },
    heard: () => Promise.all(heard),
  };
}

/** Platforms without stored limits. */
const connecting = (...platforms: MadePlatform[]): ConnectingPlatforms => ({
  platforms,
  refresh: async () => {},
});

const post = (tenure: Tenure, id: string) =>
  tenure.platforms[0]?.post({
    ...{ channel: 'garden', card: { tone: 'info', title: 'Hello', parts: [] } },
    ...{ id, attempted: false },
  });

test('platforms begin before the bot, the console once it is made, and all end in reverse', async () => {
  const { tenure, told, takeLease, store } = await open();
  await tenure.begin(await takeLease());
  expect(tenure.bot).toBeDefined();
  expect(tenure.platforms.map(({ name }) => name)).toEqual(['toy', 'console']);
  await tenure.pause();
  await tenure.end();
  expect(tenure.bot).toBeUndefined();
  // The toy may start before or after the bot is created.
  const [before, after] = [told.slice(0, 2).sort(), told.slice(2)];
  expect(before).toEqual(['bot is made', 'toy starts']);
  expect(after).toEqual([
    ...['console is made', 'console starts', 'bot starts with toy and console'],
    ...['toy pauses', 'console pauses'],
    ...['bot stops', 'toy stops as holder', 'console stops as holder'],
  ]);
  expect((await store.lease('bot'))?.isHeld()).toBe(true);
});

test('what platforms hear before there is a lease waits for it, and is done in order', async () => {
  const { tenure, told, takeLease, hear, heard } = await open();
  await tenure.connect();
  hear('1');
  hear('2');
  await expect(post(tenure, 'early')).rejects.toThrow('It is not held.');
  expect(told).toEqual(['toy starts']);
  await tenure.begin(await takeLease());
  hear('3');
  await heard();
  expect(told.filter((one) => one.startsWith('did'))).toEqual([
    ...['did 1 as holder', 'did 2 as holder', 'did 3 as holder'],
  ]);
  // A waiting event may need the console.
  expect(told.indexOf('console starts')).toBeLessThan(told.indexOf('did 1 as holder'));
  expect(told.filter((one) => one === 'toy starts')).toHaveLength(1);
  await tenure.end();
});

test('a bot that cannot be made leaves nothing running, and the lease free', async () => {
  const { tenure, told, takeLease, store } = await open({
    async createBot() {
      throw new Error('A file is damaged.');
    },
  });
  await expect(tenure.begin(await takeLease())).rejects.toThrow('A file is damaged.');
  await tenure.end();
  expect(told).toEqual(['toy starts', 'toy stops as holder']);
  expect(await store.lease('bot')).toBeDefined();
});

test('a platform that refuses for good keeps the bot from beginning, and the console is stopped too', async () => {
  const toy = await open();
  const refusing = {
    ...toy.platform('toy', () => true),
    start: () => Promise.reject(new Error('401')),
  };
  const { tenure, told, takeLease } = await open({
    createPlatforms: async () => connecting(refusing),
  });
  await expect(tenure.begin(await takeLease())).rejects.toThrow('401');
  await tenure.end();
  expect(told).toEqual([
    ...['bot is made', 'console is made', 'console starts'],
    ...['bot stops', 'console stops as holder'],
  ]);
});

test.each(['platforms', 'bot'] as const)(
  'nothing that is made while it ends is started (%s)',
  async (late) => {
    let make = () => {};
    const made = new Promise<void>((resolve) => {
      make = resolve;
    });
    const toy = await open();
    const parts: Partial<TenureParts> = {
      async createPlatforms({ isHeld }) {
        if (late === 'platforms') await made;
        const start = async () => void toy.told.push('starts');
        return connecting({ ...toy.platform('toy', isHeld), start });
      },
      async createBot() {
        if (late === 'platforms') throw new Error('It cannot be made.');
        await made;
        return { start: async () => void toy.told.push('bot starts') } as unknown as OpenBot;
      },
    };
    const { tenure, told, takeLease } = await open(parts);
    const begun = tenure.begin(await takeLease());
    begun.catch(() => {});
    if (late === 'platforms') await begun.catch(() => {});
    await tenure.end();
    make();
    await begun.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(toy.told).toEqual([]);
    expect(told).toEqual([]);
    expect(tenure.bot).toBeUndefined();
  },
);

test('nothing is sent or stored once the lease is lost', async () => {
  let own: Store | undefined;
  const { tenure, told, takeLease, hear, heard, store } = await open({
    async createConsole({ store: given }) {
      own = given;
      return undefined;
    },
  });
  const lost = new AbortController();
  const lease = await takeLease();
  await tenure.begin({
    ...lease,
    signal: lost.signal,
    isHeld: () => !lost.signal.aborted,
  });
  await post(tenure, 'in time');
  const claims = own?.claims({ name: 'toys', schema: z.never(), keptMs: 1_000 });
  await claims?.claim('in time');
  lost.abort();
  expect(tenure.lease.isHeld()).toBe(false);
  await expect(post(tenure, 'late')).rejects.toThrow('It is not held.');
  await expect(claims?.finish('late')).rejects.toThrow(LeaseLostError);
  hear('1');
  await heard();
  await tenure.end();
  expect(told.slice(-4)).toEqual([
    ...['toy posts in time', 'did 1 late', 'bot stops', 'toy stops late'],
  ]);
  expect(await store.lease('bot')).toBeDefined();
});

test('an end waits for nothing longer than some seconds, and says what it left', async () => {
  const toy = await open();
  const { tenure, told, takeLease, messages, store } = await open({
    createPlatforms: async ({ isHeld }) =>
      connecting(
        { ...toy.platform('stuck', isHeld), stop: () => NEVER },
        { ...toy.platform('broken', isHeld), stop: () => Promise.reject(new Error('Broken pipe')) },
      ),
    createConsole: async () => undefined,
  });
  await tenure.begin(await takeLease());
  const limits = holdTimers(5_000);
  const ended = tenure.end();
  // One for the bot, and one for the platforms.
  await eventually(() => limits.count() === 2);
  limits.expire();
  await ended;
  expect(told.at(-1)).toBe('bot stops');
  await eventually(() => messages().length > 0);
  expect(messages()).toEqual(['a part of the bot did not stop in time; abandoning it']);
  expect(await store.lease('bot')).toBeDefined();
});

test('what the former holder stored while the platforms connected is read before what waited is done', async () => {
  const { tenure, told, takeLease, hear, heard, platform } = await open({
    createPlatforms: async ({ isHeld }) => ({
      platforms: [platform('toy', isHeld)],
      refresh: async () => void told.push('refreshed'),
    }),
  });
  await tenure.connect();
  hear('1');
  await tenure.begin(await takeLease());
  await heard();
  expect(told.indexOf('refreshed')).toBeLessThan(told.indexOf('did 1 as holder'));
  expect(told).toContain('refreshed');
  await tenure.end();
});
