import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import type { Incident, Watching } from '../../../src/bot/incidents/watch-state.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const PLACE = { platform: 'slack', channel: 'C1' } as const;
const PLAIN = 'https://shop.example/?page=1&token=s3cret';
const HIDDEN = 'https://shop.example/?page=1&token=…';

async function open(folder: string) {
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder, log });
  onTestFinished(() => store.close());
  return { store, log };
}

/** The files in which the secret stands. */
async function leaking(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map((one) => join(one.parentPath, one.name));
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
  return paths.filter((_, at) => texts[at]?.includes('s3cret'));
}

test('targets that an older version stored of channels lose their secrets, in every file', async () => {
  const folder = await temporaryFolder();
  const { store } = await open(folder);
  const channels = createChannels(store);
  // Twice, so that the version before has it too.
  for (const id of ['a', 'b']) await channels.add(PLACE, { id, name: 'Shop', target: PLAIN });
  expect(await leaking(folder)).toHaveLength(2);
  await channels.hideSecrets();
  expect(await leaking(folder)).toEqual([]);
  const hears = await channels.subscribers();
  expect(hears({ id: 'a', name: 'Shop', target: HIDDEN }).map(placeKey)).toEqual(['slack:C1']);
});

test('targets that an older version stored of incidents lose theirs with the next update', async () => {
  const folder = await temporaryFolder();
  const before = await open(folder);
  const old = await openWatchState(before.store);
  const incident: Incident = {
    ...{ kind: 'incident', id: 'i', version: 1, openedAtMs: 1, name: 'Shop', target: PLAIN },
    ...{ monitorId: 'a', checkType: 'HTTP', status: 'DOWN', startedAtMs: 1 },
    deliveries: [newDelivery('slack:C1', 'i')],
  };
  const watching: Watching = { known: [], learnt: true, shortLooks: 0, alerts: [incident] };
  await old.update(() => watching);
  await before.store.close();
  expect(await leaking(folder)).toHaveLength(1);

  const { store } = await open(folder);
  const state = await openWatchState(store);
  expect(state.current()?.alerts).toMatchObject([{ id: 'i', target: HIDDEN }]);
  await state.update((current) => current && { ...current, shortLooks: 1 });
  expect(await leaking(folder)).toEqual([]);
  await store.close();
  const again = await open(folder);
  const read = await openWatchState(again.store);
  expect(read.current()).toMatchObject({ shortLooks: 1, alerts: [{ id: 'i', target: HIDDEN }] });
});
