import { AsyncResource } from 'node:async_hooks';
import { expect, onTestFinished, test } from 'vitest';
import { createPlatformSupervisor, type MadePlatform } from '../../src/app/platform-supervisor.ts';
import type { Bot, Platform } from '../../src/bot/platform.ts';
import { FileError } from '../../src/bot/shared/shared-file.ts';
import { eventually } from '../helpers/eventually.ts';
import { recordingLog } from '../helpers/recording-log.ts';

const { log } = recordingLog();
const onFatal = (error: Error) => {
  throw error;
};

const BARE: MadePlatform = {
  name: 'bare',
  start: async () => {},
  stop: async () => {},
  post: async ({ id }) => ({ message: id, thread: id }),
  update: async () => {},
  announce: async () => {},
};

async function run(platform: MadePlatform) {
  const supervisor = createPlatformSupervisor({ log, firstPauseMs: 60_000 });
  const supervised = await supervisor.supervise(async () => platform, onFatal);
  await supervised.start({ interrupt: () => () => {} } as unknown as Bot);
  onTestFinished(() => supervised.stop());
  return { supervisor, supervised };
}

const FILE = { name: 'crash.log', ref: {} };
const WHERE = { channel: 'C1', signal: new AbortController().signal };

/** Every member of `Platform`; the compiler refuses a list that lacks one. */
const MEMBERS: Record<keyof Platform, true> = {
  name: true,
  start: true,
  pause: true,
  stop: true,
  hint: true,
  channelName: true,
  readAround: true,
  readFile: true,
  post: true,
  update: true,
  linkTo: true,
  announce: true,
  endAnswer: true,
};

test('the supervisor offers every member of a platform', async () => {
  const { supervised } = await run(BARE);
  expect(Object.keys(MEMBERS).filter((member) => !(member in supervised))).toEqual([]);
});

test('what a platform lacks is lacking in its supervised form too', async () => {
  const { supervised } = await run(BARE);
  expect(supervised.readFile(FILE, WHERE)).toBeUndefined();
  expect(supervised.channelName('C1')).toBeUndefined();
  const limits = { limit: 1, asker: 'U1', signal: WHERE.signal };
  expect(await supervised.readAround('C1', {}, limits)).toBeUndefined();
  expect(await supervised.linkTo('C1', { message: '1', thread: '1' })).toBeUndefined();
});

test('a fault while a file is read belongs to its platform, which then reads no file until it runs again', async () => {
  const taken: boolean[] = [];
  let ended = 0;
  const { supervisor, supervised } = await run({
    ...BARE,
    async *readFile({ name }) {
      try {
        yield Buffer.from(name);
        await Promise.resolve();
        taken.push(supervisor.take(new Error('The socket broke.')));
        yield Buffer.from('the rest');
      } finally {
        ended += 1;
      }
    },
  });
  const parts: string[] = [];
  for await (const part of supervised.readFile(FILE, WHERE) ?? []) {
    parts.push(String(part));
    // A reader that has enough leaves the stream, which then closes what it opened.
    if (parts.length === 2) break;
  }
  expect(parts).toEqual(['crash.log', 'the rest']);
  expect(taken).toEqual([true]);
  expect(ended).toBe(1);
  expect(supervisor.take(new Error('Ours.'))).toBe(false);
  expect(supervisor.faults()).toEqual([{ labels: { platform: 'bare' }, value: 1 }]);
  expect(() => supervised.readFile(FILE, WHERE)).toThrow(FileError);
});

test('a platform that is stopped while it is made anew is not started any more', async () => {
  let makes = 0;
  let starts = 0;
  let make = () => {};
  const again = new Promise<void>((resolve) => {
    make = resolve;
  });
  const supervisor = createPlatformSupervisor({ log, firstPauseMs: 1 });
  let fail = () => {};
  const supervised = await supervisor.supervise(async () => {
    makes += 1;
    if (makes > 1) await again;
    return {
      ...BARE,
      async start() {
        starts += 1;
        // From within the platform's life, as its library would.
        fail = AsyncResource.bind(() => void supervisor.take(new Error('The socket broke.')));
      },
    };
  }, onFatal);
  await supervised.start({ interrupt: () => () => {} } as unknown as Bot);
  fail();
  await eventually(() => makes === 2);
  await supervised.stop();
  make();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(starts).toBe(1);
});
