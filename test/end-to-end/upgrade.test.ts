import { randomUUID } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const FOLDER = fileURLToPath(new URL('../fixtures/data-folder-0.1.0/', import.meta.url));
const CLOCK = new URL('../helpers/end-to-end/shifted-clock.mjs', import.meta.url);

/** A minute after the program that wrote the folder ended, in Unix milliseconds. */
const NOW_MS = 1_795_489_314_189;

/** What people keep of that program: their browser's cookies, their keys, and the address that a job asks for. */
const COOKIE =
  'askwatch-session=VfGXgWl6COs8oevP9EW1VgQ7Xz7fD8pmA2BwWQFz-DI; askwatch-person=SV9MUPy2Ov9zLUw_rEun74_XHKm5v3kb1hI8GnCHfQo';
const GATEWAY_KEY = 'awg_noCZKOCzw4nylhSOEzjIy2dtiiWXVr5fjESVy3VH';
const MONITORING_KEY = 'awm_QdLrCpPOY5R0D6Q2rmIXKrHqdp3zday0xLe67wJr';
const PUSH_TOKEN = 'T6jKiSbOpM3d0ko7yu_cY2LXFpGQDMtZ';

const SHOP = 'mon_fe9021780a06ee6d';
const SECRET = 'mon_05013ede6eceb541';
const ALERT = 'pFuGrFgD2wFPZQ905sOkX2r';
const INCIDENT = '9b695430-61fb-41d6-8e63-e51779bdc25d';
const QUESTION = 'q7eabc99c-dbbb-40ff-a2fa-528f5b135537';

interface Listed {
  message: { id: string; body: { card?: { title: string; parts: unknown[] } } };
}

async function startOnFolder() {
  const dataDir = await temporaryFolder();
  await cp(FOLDER, `${dataDir}/data`, { recursive: true });
  const askwatch = await startAskwatch({
    dataDir,
    env: {
      NODE_OPTIONS: `--import=${CLOCK}`,
      ASKWATCH_TEST_NOW_MS: String(NOW_MS),
      CONSOLE_PASSWORD: 'correct horse battery staple',
      MONITOR_ALLOW_PRIVATE: '127.0.0.0/8',
    },
  });
  onTestFinished(async () => void (await askwatch.stop()));

  async function call(path: string, body?: object, headers: Record<string, string> = {}) {
    const response = await fetch(askwatch.url + path, {
      headers: {
        cookie: COOKIE,
        origin: askwatch.url,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, `${path}: ${text}`).toBeLessThan(300);
    return JSON.parse(text);
  }

  /** What the page shows first. */
  async function snapshot(): Promise<{ person: { name: string }; messages: Listed[] }> {
    const response = await fetch(`${askwatch.url}/console/events`, {
      headers: { cookie: COOKIE, origin: askwatch.url },
    });
    expect(response.status).toBe(200);
    let text = '';
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString();
      const data = /^data: (\{"kind":"snapshot".*)\n/m.exec(text)?.[1];
      if (data) return JSON.parse(data);
    }
    throw new Error('the stream of events ended before its snapshot');
  }

  const shown = async (id: string) =>
    (await snapshot()).messages.find(({ message }) => message.id === id)?.message.body.card;

  return { askwatch, call, snapshot, shown };
}

test('A program starts on the data folder of an earlier one: keys, sessions, threads and buttons stay good', async () => {
  const { askwatch, call, snapshot, shown } = await startOnFolder();
  expect(askwatch.output()).not.toMatch(/"level":(?:50|60)/);
  expect(askwatch.output()).not.toContain('shown this once');

  // The person of the session sees the channel as it was, with the alert of an outage that goes on.
  const { person, messages } = await snapshot();
  expect(person.name).toBe('Guest 1');
  expect(messages.map(({ message }) => message.id)).toEqual(
    expect.arrayContaining([QUESTION, ALERT]),
  );

  // Both keys are taken, the counted usage among what they lead to.
  const chat = { model: 'small-4k', messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await call('/v1/chat/completions', chat, {
    authorization: `Bearer ${GATEWAY_KEY}`,
  });
  expect(answer.choices[0].message.content).toContain('Hello');
  const asMonitoring = { 'x-api-key': MONITORING_KEY };
  const { monitors } = await call('/api/v1/public/monitors', undefined, asMonitoring);
  expect(monitors.map(({ name }: { name: string }) => name).sort()).toEqual([
    'Heart',
    'Secret',
    'Shop',
  ]);
  const { incidents } = await call(
    `/api/v1/public/monitors/${SHOP}/incidents`,
    undefined,
    asMonitoring,
  );
  expect(incidents).toMatchObject([{ ended_at: null }]);

  // The secret header is still known, and so is the address that the job asks for.
  const secret = await call(`/api/v1/public/monitors/${SECRET}`, undefined, asMonitoring);
  expect(secret.config.headers).toEqual({ authorization: '…' });
  expect(secret.status_reason ?? '').not.toContain('secret');
  expect(await call(`/api/v1/public/push/${PUSH_TOKEN}`)).toEqual({ ok: true });

  // The alert's button works, and changes the message that the earlier program posted.
  const interaction = () => ({ id: randomUUID(), channel: 'general' });
  await call('/console/presses', {
    ...interaction(),
    message: ALERT,
    action: `incident acknowledge?incident=${INCIDENT}`,
  });
  await eventually(async () => JSON.stringify(await shown(ALERT)).includes('Acknowledged by'));
  expect(await shown(ALERT)).toMatchObject({ title: 'Shop is down' });

  // The thread remembers.
  await call('/console/sayings', { ...interaction(), thread: QUESTION, text: 'and at night?' });
  const remembered = 'Earlier in this conversation you asked: “why is the sky blue”';
  await eventually(async () =>
    JSON.stringify(await call(`/console/threads/${QUESTION}`)).includes(remembered),
  );
});
