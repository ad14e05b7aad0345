import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { MonitorCreate } from '../../../src/contracts/monitoring.ts';
import { createSsrfGuard } from '../../../src/http/ssrf-guard.ts';
import { createAdmission } from '../../../src/monitoring/api/admission.ts';
import { createNameLookup } from '../../../src/monitoring/checks/name-lookup.ts';
import { openIdempotentCreates } from '../../../src/monitoring/monitors/idempotency.ts';
import { type DnsAnswer, startDnsServer } from '../../fakes/dns-server.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const site = (name = 'Shop') =>
  MonitorCreate.parse({ name, check_type: 'HTTP', target: 'http://shop.example/' });

/** Repeats over a real store, with the admission of the service and a resolver that says where `shop.example` is. */
async function setUp(address: () => string) {
  const dns = await startDnsServer(({ type }): DnsAnswer => (type === 'A' ? [[address()]] : []));
  const admit = createAdmission({
    guard: createSsrfGuard([]),
    lookup: createNameLookup({ servers: [dns.address] }),
  });
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  const monitors = new Set<string>();
  const repeats = openIdempotentCreates({
    store,
    wallMs: () => 1_800_000_000_000,
    newMonitorId: () => `mon_${randomUUID()}`,
    exists: (id) => monitors.has(id),
  });
  const create = (key: string, definition = site()) =>
    repeats.run(
      { apiKeyId: 'key_1', key, admit: () => admit(definition) },
      definition,
      async ({ monitor }) => {
        const repeated = monitors.has(monitor);
        monitors.add(monitor);
        return { monitor, repeated };
      },
    );
  return { create, monitors, store, questions: dns.questions };
}

/** A look-up asks for A and for AAAA. */
const LOOKUP_QUESTIONS = 2;
const outcomes = (answers: PromiseSettledResult<unknown>[]) =>
  answers.map((answer) => (answer.status === 'fulfilled' ? 'made' : answer.reason.code));

test('identical creates resolve the name of the target once, however many come before the first answer', async () => {
  const { create, monitors, store, questions } = await setUp(() => '1.1.1.1');
  const answers = await Promise.all(Array.from({ length: 8 }, () => create('a')));
  expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
  expect(monitors.size).toBe(1);
  expect(questions).toHaveLength(LOOKUP_QUESTIONS);
  await create('a');
  expect(questions).toHaveLength(LOOKUP_QUESTIONS);
  await create('b');
  expect(questions).toHaveLength(2 * LOOKUP_QUESTIONS);
  await store.close();
});

test('creates that are the same are refused together, and the key may come with another body then', async () => {
  let address = '10.0.0.1';
  const { create, monitors, store, questions } = await setUp(() => address);
  const refused = await Promise.allSettled(Array.from({ length: 8 }, () => create('a')));
  expect(new Set(outcomes(refused))).toEqual(new Set(['target_not_allowed']));
  expect(questions).toHaveLength(LOOKUP_QUESTIONS);
  expect(monitors.size).toBe(0);
  address = '1.1.1.1';
  expect(await create('a', site('Other'))).toMatchObject({ repeated: false });
  await store.close();
});

test('another body that comes at the same moment is admitted by itself when the first was refused', async () => {
  let asked = 0;
  const { create, store } = await setUp(() => {
    asked += 1;
    return asked === 1 ? '10.0.0.1' : '1.1.1.1';
  });
  const answers = await Promise.allSettled([
    create('a'),
    create('a', site('Other')),
    create('a'),
    create('a', site('Other')),
  ]);
  expect(outcomes(answers)).toEqual(['target_not_allowed', 'made', 'target_not_allowed', 'made']);
  expect(outcomes(await Promise.allSettled([create('a')]))).toEqual(['idempotency_key_reused']);
  await store.close();
});
