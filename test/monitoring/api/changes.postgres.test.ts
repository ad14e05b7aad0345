import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { compared, createChangesReader } from '../../helpers/monitoring/changes-reader.ts';
import { http, startReplicas, startSite } from '../../helpers/monitoring/replicas.ts';
import type { Service } from '../../helpers/monitoring/service.ts';
import { hasPostgres } from '../../helpers/postgres/test-database.ts';
import { describeChanges } from './changes-contract.ts';

const MONITORS = '/api/v1/public/monitors';

/** The clock of the database is that of this machine, which is set back by no test. */
const SHARP = { changesOverlapMs: 1 };

const job = { name: 'backup', check_type: 'HEARTBEAT', target: 'backup', config: {} };

if (hasPostgres) {
  describeChanges('PostgreSQL', async () => (await startReplicas(1)).a);
}

/** Reads on, again while a database that is too busy refuses it. */
const readOn = (reader: ReturnType<typeof createChangesReader>, service: Service) =>
  eventually(() =>
    reader.read(service).then(
      () => true,
      () => false,
    ),
  );

/** What may happen to the monitors: each takes two numbers that say to which and how. */
const DEEDS = [
  'create',
  'createJob',
  'rename',
  'retarget',
  'pause',
  'resume',
  'remove',
  'ping',
  'fail',
  'turn',
  'check',
] as const;

const happenings = fc.array(
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        deed: fc.constantFrom(...DEEDS),
        by: fc.nat(2),
        which: fc.nat(),
      }),
    },
    { weight: 8, arbitrary: fc.record({ deed: fc.constant('read' as const), by: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ deed: fc.constant('restart' as const), by: fc.nat(2) }) },
  ),
  { minLength: 40, maxLength: 60 },
);

describe.skipIf(!hasPostgres)('several processes of the service on one database', () => {
  test('tell a reader all that changes, whichever of them it asks, also over restarts', async () => {
    const { replicas, start } = await startReplicas(3, SHARP);
    const site = await startSite();
    const tokens = new Map<string, string>();
    const sum = { lists: 0, changes: 0, resets: 0 };
    const at = (by: number) => replicas[by] as Service;

    async function act(deed: (typeof DEEDS)[number], service: Service, which: number) {
      // What is refused, as by a database that is too busy, changes nothing.
      const { monitors = [] } = (await service.get(`${MONITORS}?include_paused=true`)).body as {
        monitors?: Monitor[];
      };
      const some = (fits: (monitor: Monitor) => boolean = () => true) => {
        const fitting = monitors.filter(fits);
        return fitting[which % Math.max(1, fitting.length)];
      };
      const isJob = ({ check_type }: Monitor) => check_type === 'HEARTBEAT';
      const any = some();
      const checked = some((monitor) => !isJob(monitor));
      const path = `${MONITORS}/${any?.id}`;
      const push = async (signal: string) => {
        const token = tokens.get(some(isJob)?.id ?? '');
        if (token) await service.call('POST', `${token}${signal}`, { key: null });
      };
      const deeds: Record<typeof deed, () => Promise<unknown>> = {
        create: () =>
          service.call('POST', MONITORS, {
            json: http(site.url(`/${which}`), { confirm_down: 1 }),
          }),
        async createJob() {
          const { status, body } = await service.call('POST', MONITORS, { json: job });
          if (status === 201) tokens.set(`${body.id}`, new URL(`${body.push_url}`).pathname);
        },
        rename: () => service.call('PATCH', path, { json: { name: `Number ${which}` } }),
        retarget: async () =>
          checked &&
          (await service.call('PATCH', `${MONITORS}/${checked.id}`, {
            json: { target: site.url(`/other/${which}`) },
          })),
        pause: () => service.call('POST', `${path}/pause`),
        resume: () => service.call('POST', `${path}/resume`),
        remove: () => service.call('DELETE', path),
        ping: () => push(''),
        fail: () => push('/fail'),
        turn: async () => site.setStatus(which % 2 ? 200 : 503),
        check: async () =>
          checked && (await service.call('POST', `${MONITORS}/${checked.id}/check`)),
      };
      await deeds[deed]();
    }

    await fc.assert(
      fc.asyncProperty(happenings, async (all) => {
        const readers = [
          createChangesReader(),
          createChangesReader({ query: 'include_paused=true' }),
        ];
        const under: Promise<unknown>[] = [];
        for (const happening of all) {
          const service = at(happening.by);
          if (happening.deed === 'read') {
            // What was not answered yet may or may not be told.
            for (const reader of readers) await readOn(reader, service);
          } else if (happening.deed === 'restart') {
            await Promise.all(under.splice(0));
            await service.close();
            replicas[happening.by] = await start();
          } else {
            under.push(act(happening.deed, service, happening.which));
            if (happening.which % 3 > 0) await Promise.all(under.splice(0));
          }
        }
        await Promise.all(under);
        const last = at(all.length % 3);
        const whole = async (query: string) =>
          compared((await last.get(`${MONITORS}${query}`)).body.monitors as Monitor[]);
        // A check that began by itself may still end.
        await eventually(async () => {
          const before = await whole('?include_paused=true');
          for (const reader of readers) await readOn(reader, last);
          const now = [await whole(''), await whole('?include_paused=true')];
          if (!isDeepStrictEqual(before, now[1])) return false;
          expect(readers.map((reader) => reader.monitors())).toEqual(now);
          return true;
        });
        for (const { answers } of readers) {
          for (const kind of ['lists', 'changes', 'resets'] as const) sum[kind] += answers[kind];
        }
      }),
      // Each run has real processes behind it: looking for a smaller example would take minutes.
      { numRuns: long ? 60 : 2, endOnFailure: true },
    );
    expect(sum.changes).toBeGreaterThan(sum.resets);
  });

  test('tell at once what another of them has just answered', async () => {
    const { a, b } = await startReplicas(2, SHARP);
    const { id } = await a.create(job);
    const reader = createChangesReader();
    await reader.read(b);
    for (let turn = 0; turn < 20; turn += 1) {
      await a.call('PATCH', `${MONITORS}/${id}`, { json: { name: `Number ${turn}` } });
      await reader.read(b);
      expect(reader.monitors()[id]).toMatchObject({ name: `Number ${turn}` });
    }
    expect(reader.answers).toEqual({ lists: 1, changes: 20, resets: 0 });
  });

  test('tell what one of them could not store to nobody else as if it were', async () => {
    const { a, b, query } = await startReplicas(2, SHARP);
    const { id, push_url } = await a.create(job);
    const path = new URL(push_url ?? '').pathname;
    const reader = createChangesReader();
    const status = () => (reader.monitors()[id] as Monitor | undefined)?.status;
    await reader.read(a);
    await reader.read(b);
    expect([status(), reader.answers.resets]).toEqual(['PENDING', 0]);
    await query(`create function #.refuse() returns trigger language plpgsql as
      $$ begin raise exception 'the disk is full'; end $$`);
    await query(`create trigger refuse before insert or update on #.register
      for each row execute function #.refuse()`);
    expect((await a.call('POST', `${path}/fail`, { key: null })).status).toBe(503);
    // A full disk must not hide an outage.
    await reader.read(a);
    expect([status(), reader.answers.resets]).toEqual(['DOWN', 0]);
    await reader.read(a);
    expect([status(), reader.answers.resets]).toEqual(['DOWN', 0]);
    await reader.read(b);
    expect([status(), reader.answers.resets]).toEqual(['PENDING', 1]);
    await reader.read(a);
    expect([status(), reader.answers.resets]).toEqual(['DOWN', 1]);
    await query('drop trigger refuse on #.register');
    await a.call('POST', `${path}/fail`, { key: null });
    await reader.read(a);
    await reader.read(b);
    expect([status(), reader.answers.resets]).toEqual(['DOWN', 1]);
  });
});
