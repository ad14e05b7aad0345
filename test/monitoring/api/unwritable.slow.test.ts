import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ErrorBody } from '../../../src/contracts/error.ts';
import { MonitorDetails } from '../../../src/contracts/monitoring-additions.ts';
import { isMissing } from '../../../src/store/lowdb/files.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { type Answer, type Service, startService } from '../../helpers/monitoring/service.ts';
import { folderOfFiles } from '../../helpers/test-store.ts';

const MONITORS = '/api/v1/public/monitors';

/** Stored parts of monitors: definitions with repeatable creates, and states. */
const DOCUMENTS = ['monitors', 'monitor-creates'];
const STATES = ['monitor-states'];

/**
 * Puts files in the way of folders, so that the file system itself refuses what is written or read there; `heal` puts
 * the folders back. Files that are open already are written on, so a service whose states are to be refused must not
 * have written any since its start.
 */
async function obstruct(folder: string, names: readonly string[]) {
  for (const name of names) {
    await rename(join(folder, name), join(folder, `${name}-away`)).catch(unlessMissing);
    await writeFile(join(folder, name), 'in the way');
  }
  return async function heal() {
    for (const name of names) {
      await rm(join(folder, name));
      await rename(join(folder, `${name}-away`), join(folder, name)).catch(unlessMissing);
    }
  };
}

function unlessMissing(error: unknown) {
  if (!isMissing(error)) throw error;
}

/** All monitors as they are shown once their first checks are over, without what every check changes. */
async function shownBy({ call }: Service): Promise<MonitorDetails[]> {
  type Listed = { id: string; check_type: string; status: string };
  const list = async () =>
    (await call('GET', `${MONITORS}?include_paused=true`)).body as { monitors: Listed[] };
  const isChecked = ({ check_type, status }: Listed) =>
    check_type === 'HEARTBEAT' || status !== 'PENDING';
  const body = await eventually(async () => {
    const now = await list();
    return now.monitors.every(isChecked) && now;
  });
  const all: MonitorDetails[] = [];
  for (const { id } of body.monitors) {
    const shown = MonitorDetails.parse((await call('GET', `${MONITORS}/${id}`)).body);
    const { last_checked_at: _at, response_time_ms: _ms, stale: _stale, ...rest } = shown;
    all.push(rest);
  }
  return all;
}

/** A folder with a site that is UP and is not checked again, one that is paused, and a job. */
async function seeded() {
  const folder = await folderOfFiles();
  const target = await startWebTarget();
  const other = await startWebTarget();
  const service = await startService({ folder });
  const site = { check_type: 'HTTP', target: target.url, config: { interval_seconds: 86_400 } };
  const ids = {
    site: (await service.create({ ...site, name: 'Shop' })).id,
    paused: (await service.create({ ...site, name: 'Blog' })).id,
    job: (await service.create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'backup' })).id,
  };
  expect((await service.call('POST', `${MONITORS}/${ids.paused}/pause`)).status).toBe(200);
  await eventually(
    async () => (await service.call('GET', `${MONITORS}/${ids.site}`)).body.status === 'UP',
  );
  await service.close();
  return { folder, ids, otherUrl: other.url };
}
type Seed = Awaited<ReturnType<typeof seeded>>;

/** Requests that change something: what they write, and what makes them. */
const CHANGES: Array<
  [what: string, writes: string[], ask: (s: Service, seed: Seed) => Promise<Answer>]
> = [
  [
    'a create',
    DOCUMENTS,
    (s, { otherUrl }) =>
      s.call('POST', MONITORS, { json: { name: 'New', check_type: 'HTTP', target: otherUrl } }),
  ],
  [
    'a create of a heartbeat with an Idempotency-Key',
    DOCUMENTS,
    (s) =>
      s.call('POST', MONITORS, {
        json: { name: 'Job', check_type: 'HEARTBEAT', target: 'job' },
        headers: { 'idempotency-key': 'one' },
      }),
  ],
  [
    'a change of a name and a setting',
    DOCUMENTS,
    (s, { ids }) =>
      s.call('PATCH', `${MONITORS}/${ids.site}`, {
        json: { name: 'Other', config: { confirm_down: 3 } },
      }),
  ],
  [
    'a change of a target',
    DOCUMENTS,
    (s, { ids, otherUrl }) =>
      s.call('PATCH', `${MONITORS}/${ids.site}`, { json: { target: otherUrl } }),
  ],
  [
    'a change of the maintenance',
    DOCUMENTS,
    (s, { ids }) =>
      s.call('PUT', `${MONITORS}/${ids.site}/maintenance`, {
        json: { windows: [{ cron: '0 3 * * 0', duration_minutes: 60 }] },
      }),
  ],
  ['a delete', DOCUMENTS, (s, { ids }) => s.call('DELETE', `${MONITORS}/${ids.job}`)],
  ['a pause', STATES, (s, { ids }) => s.call('POST', `${MONITORS}/${ids.site}/pause`)],
  ['a resume', STATES, (s, { ids }) => s.call('POST', `${MONITORS}/${ids.paused}/resume`)],
];

function expectKindRefusal(answer: Answer, folder: string) {
  expect(answer.status).toBe(503);
  const { error } = ErrorBody.parse(answer.body);
  expect(error).toMatchObject({ code: 'service_unavailable', type: 'server_error' });
  expect(error.message).toMatch(
    /could not be stored.*(nothing has changed|not created).*Try again/,
  );
  expect(answer.text).not.toContain(folder);
}

describe.each([
  ['nothing can be written', [...DOCUMENTS, ...STATES], 0],
  ['only what it writes cannot be written', undefined, 1],
] as const)('when %s', (_when, everything, turn) => {
  // In short each change in one of the two.
  test.each(CHANGES.filter((_, index) => long || index % 2 === turn))(
    '%s is a 503, changes nothing, and works when it is sent again',
    async (_what, writes, ask) => {
      const seed = await seeded();
      const { folder } = seed;
      let service = await startService({ folder });
      const before = await shownBy(service);
      let heal = await obstruct(folder, everything ?? writes);
      expectKindRefusal(await ask(service, seed), folder);
      expect(await shownBy(service)).toEqual(before);
      await heal();
      await service.close();

      service = await startService({ folder });
      expect(await shownBy(service)).toEqual(before);
      heal = await obstruct(folder, everything ?? writes);
      expectKindRefusal(await ask(service, seed), folder);
      expectKindRefusal(await ask(service, seed), folder);
      await heal();
      const answer = await ask(service, seed);
      expect([200, 201, 204]).toContain(answer.status);
      const after = await shownBy(service);
      expect(after).not.toEqual(before);
      await service.close();

      service = await startService({ folder });
      expect(await shownBy(service)).toEqual(after);
    },
  );
});
