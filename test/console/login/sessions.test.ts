import { expect, onTestFinished, test } from 'vitest';
import { ConsolePassword, fingerprintCollection } from '../../../src/console/login/password.ts';
import { type Session, Sessions, sessionsCollection } from '../../../src/console/login/sessions.ts';
import type { Collection } from '../../../src/store/store.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

async function openStore() {
  const { log, lines } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  return { store, log, lines };
}

/** The collection, whose writes fail while `broken` says so, as on a full disk. */
function breakable<T>(stored: Collection<T>, broken: () => boolean): Collection<T> {
  return {
    ...stored,
    async update(id, change) {
      if (broken()) throw new Error('The disk is full.');
      return await stored.update(id, change);
    },
  };
}

test('the oldest of more than two hundred sessions ends', async () => {
  const { store, log } = await openStore();
  const stored = store.collection(sessionsCollection);
  let now = 1_000;
  const sessions = await Sessions.open({ stored, log, nowMs: () => now });
  onTestFinished(() => sessions.close());
  const tokens: string[] = [];
  for (let count = 0; count < 202; count += 1) {
    now += 1;
    tokens.push(await sessions.create('first'));
  }
  const alive = tokens.map((token) => sessions.use(token) !== undefined);
  expect(alive.indexOf(true)).toBe(2);
  expect(alive.slice(2)).not.toContain(false);
  expect(await stored.list()).toHaveLength(200);
});

test('a session that cannot be stored does not start', async () => {
  const { store, log } = await openStore();
  const stored = store.collection(sessionsCollection);
  const sessions = await Sessions.open({ stored: breakable(stored, () => true), log });
  onTestFinished(() => sessions.close());
  await expect(sessions.create('first')).rejects.toThrow('The disk is full.');
  expect(await stored.list()).toEqual([]);
});

test('an ended session is refused while the disk is full, and removed later', async () => {
  const { store, log, lines } = await openStore();
  const stored = store.collection(sessionsCollection);
  let full = false;
  const sessions = await Sessions.open({
    stored: breakable(stored, () => full),
    log,
    sweepEveryMs: 10,
  });
  onTestFinished(() => sessions.close());
  const token = await sessions.create('first');
  full = true;
  await expect(sessions.end(sessions.use(token) as Session)).rejects.toThrow('The disk is full.');
  expect(sessions.use(token)).toBeUndefined();
  await eventually(() =>
    lines.some(({ msg }) => /could not remove an expired session/.test(String(msg))),
  );
  expect(await stored.list()).toHaveLength(1);
  full = false;
  await eventually(async () => (await stored.list()).length === 0, { what: 'it to be gone' });
});

test('a changed password ends sessions before it is stored, also if that fails once', async () => {
  const { store, log } = await openStore();
  const stored = store.collection(fingerprintCollection);
  async function open(password: string, endSessions: () => Promise<void>) {
    const options = { password, stored, endSessions, cost: 2 ** 10, log };
    (await ConsolePassword.open(options)).close();
  }
  let changes = 0;
  const count = async () => {
    changes += 1;
  };
  await open('the first password', count);
  await open('the first password', count);
  expect(changes).toBe(1);
  const fail = () => Promise.reject(new Error('The disk is full.'));
  await expect(open('the second password', fail)).rejects.toThrow('The disk is full.');
  await open('the second password', count);
  expect(changes).toBe(2);
});
