import { expect, onTestFinished, test } from 'vitest';
import { KEY_PATTERN } from '../../src/contracts/api-key.ts';
import { openKeys } from '../../src/http/keys.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { openTestStore, storedText } from '../helpers/test-store.ts';

async function openAt(folder: string) {
  const { log, lines } = recordingLog();
  const store = await openTestStore({ folder, log });
  onTestFinished(() => store.close());
  return { store, lines };
}

test('a key is a prefix of its service and 40 random letters and digits', async () => {
  const { store } = await openAt(await temporaryFolder());
  const gateway = await openKeys(store, 'gateway');
  const monitoring = await openKeys(store, 'monitoring');
  expect((await gateway.create('a')).key).toMatch(/^awg_[A-Za-z0-9]{40}$/);
  expect((await monitoring.create('a')).key).toMatch(/^awm_[A-Za-z0-9]{40}$/);
  expect(gateway.createTransient('bot')).toMatch(/^awg_[A-Za-z0-9]{40}$/);
  const { key } = await gateway.create('b');
  expect(`a line with ${key} in it`.replace(KEY_PATTERN, '***')).toBe('a line with *** in it');
});

test('a key is stored as a hash and its public id; the key itself is nowhere on the disk', async () => {
  const folder = await temporaryFolder();
  const { store, lines } = await openAt(folder);
  const keys = await openKeys(store, 'gateway');
  const { key, id } = await keys.create('laptop');
  const transient = keys.createTransient('bot');
  await store.close();
  const onDisk = await storedText(folder);
  expect(onDisk).toContain('laptop');
  expect(onDisk).toContain(id);
  expect(key.slice(4, 12)).toBe(id);
  for (const secret of [key, key.slice(4), key.slice(12), transient, transient.slice(12)]) {
    expect(onDisk).not.toContain(secret);
    expect(JSON.stringify(lines)).not.toContain(secret);
  }
});

test('stored keys are accepted after a restart, revoked and transient ones are not', async () => {
  const folder = await temporaryFolder();
  const { store } = await openAt(folder);
  const keys = await openKeys(store, 'monitoring');
  const first = await keys.create('first');
  const second = await keys.create('second');
  const transient = keys.createTransient('bot');
  expect(keys.verify(transient)?.name).toBe('bot');
  expect(keys.list().map(({ name }) => name)).toEqual(['first', 'second']);
  for (const info of keys.list())
    expect(Object.keys(info).sort()).toEqual(['createdAtMs', 'id', 'name']);
  expect(await keys.revoke(first.id)).toBe(true);
  expect(await keys.revoke(first.id)).toBe(false);
  expect(keys.verify(first.key)).toBeUndefined();
  await store.close();

  const again = await openKeys((await openAt(folder)).store, 'monitoring');
  expect(again.verify(first.key)).toBeUndefined();
  expect(again.verify(transient)).toBeUndefined();
  expect(again.verify(second.key)).toEqual({
    id: second.id,
    name: 'second',
    createdAtMs: second.createdAtMs,
  });
  expect(again.list().map(({ id }) => id)).toEqual([second.id]);
});

test('only the whole key of the same service is accepted', async () => {
  const { store } = await openAt(await temporaryFolder());
  const gateway = await openKeys(store, 'gateway');
  const monitoring = await openKeys(store, 'monitoring');
  const { key } = await gateway.create('a');
  expect(gateway.verify(key)?.name).toBe('a');
  const last = key.at(-1) === 'x' ? 'y' : 'x';
  const wrong = ['', 'awg_', key.slice(4), key.slice(0, -1), `${key.slice(0, -1)}${last}`];
  for (const text of [...wrong, `${key}x`, ` ${key}`, key.toLowerCase(), `awm_${key.slice(4)}`]) {
    expect(gateway.verify(text), text).toBeUndefined();
  }
  expect(monitoring.verify(key)).toBeUndefined();
});

test('limits are kept with a key, changed one by one, and known at once and after a restart', async () => {
  const folder = await temporaryFolder();
  const { store } = await openAt(folder);
  const keys = await openKeys(store, 'gateway');
  const { key, id, limits } = await keys.create('job', { requestsPerMinute: 5, tokensPerDay: 900 });
  expect(limits).toEqual({ requestsPerMinute: 5, tokensPerDay: 900 });
  expect(keys.verify(key)?.limits).toEqual(limits);

  const changed = { requestsPerMinute: 6, tokensPerMonth: 7_000 };
  await keys.limit(id, { ...changed, tokensPerDay: null, tokensPerMinute: null });
  expect(keys.verify(key)?.limits).toEqual(changed);
  expect(keys.list().map((info) => info.limits)).toEqual([changed]);
  await store.close();

  const again = await openKeys((await openAt(folder)).store, 'gateway');
  expect(again.verify(key)).toMatchObject({ id, name: 'job', limits: changed });
  await again.limit(id, { requestsPerMinute: null, tokensPerMonth: null });
  expect(again.verify(key)).not.toHaveProperty('limits');
});

test('keys of the monitoring service take no limits, because its contract fixes them', async () => {
  const { store } = await openAt(await temporaryFolder());
  const keys = await openKeys(store, 'monitoring');
  await expect(keys.create('a', { requestsPerMinute: 1 })).rejects.toThrow(
    'every key has the same one',
  );
  const { id } = await keys.create('b', {});
  await expect(keys.limit(id, { tokensPerDay: 1 })).rejects.toThrow('every key has the same one');
  expect(keys.list()).toMatchObject([{ name: 'b' }]);
});

test('a transient key has its name as its id, under which its usage is counted', async () => {
  const { store } = await openAt(await temporaryFolder());
  const keys = await openKeys(store, 'gateway');
  const first = keys.createTransient('bot');
  const second = keys.createTransient('bot');
  expect(keys.verify(first)).toMatchObject({ id: 'bot', name: 'bot' });
  expect(keys.verify(second)).toMatchObject({ id: 'bot', name: 'bot' });
  expect(await keys.revoke('bot')).toBe(false);
});

test('a key that can only read is known as that at once and after a restart, and one of before may write', async () => {
  const folder = await temporaryFolder();
  const { store } = await openAt(folder);
  const keys = await openKeys(store, 'monitoring');
  const reader = await keys.create('reader', {}, { readOnly: true });
  const writer = await keys.create('writer', {}, { readOnly: false });
  expect(reader.readOnly).toBe(true);
  expect(keys.verify(reader.key)?.readOnly).toBe(true);
  expect(keys.list().map(({ readOnly }) => readOnly)).toEqual([true, undefined]);
  await store.close();
  // The default isn't stored.
  expect(await storedText(folder)).not.toContain('"readOnly":false');

  const again = await openKeys((await openAt(folder)).store, 'monitoring');
  expect(again.verify(reader.key)?.readOnly).toBe(true);
  expect(again.verify(writer.key)).not.toHaveProperty('readOnly');
});
