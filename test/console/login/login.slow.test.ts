import { describe, expect, test } from 'vitest';
import {
  logIn,
  openTab,
  startTestConsole,
  tryPassword,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

/** Short times, after which a process counts as dead. */
const SHORT = { times: { ttlMs: 4_000, beatMs: 300 } };

/** The consoles of two processes on one database; the second has the playground. */
async function twoConsoles(options: Parameters<typeof startTestConsole>[0] = {}) {
  const { open } = await testDatabase();
  const a = await startTestConsole({ ...options, store: await open(SHORT), hasBot: false });
  const b = await startTestConsole({ ...options, store: await open(SHORT) });
  return { a, b };
}

const PASSWORD = 'correct horse battery';
const login = { password: PASSWORD };

/** Status of a console page: 200 with a login, else 401. */
const statusAt = async (url: string, cookie: string) =>
  (await fetch(`${url}/console/account/keys`, { headers: { cookie } })).status;

const logOut = (url: string, cookie: string) =>
  fetch(`${url}/console/logout`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, cookie },
    body: '{}',
  });

describe.skipIf(!hasPostgres)('the login of two processes', () => {
  test('a login and a logout at one process apply at both', async () => {
    const { a, b } = await twoConsoles({ login });
    for (let turn = 0; turn < 5; turn += 1) {
      const cookie = await logIn(a.url, PASSWORD);
      expect(await statusAt(b.url, cookie)).toBe(200);
      const there = await openTab(b.url, { cookie });
      expect((await logOut(a.url, cookie)).status).toBe(200);
      expect(await statusAt(a.url, cookie)).toBe(401);
      await eventually(async () => (await statusAt(b.url, cookie)) === 401);
      await eventually(() => there.ended);
    }
  });

  test('both processes together allow five wrong passwords from one address', async () => {
    const { a, b } = await twoConsoles({ login });
    const given = await Promise.all(
      Array.from({ length: 12 }, (_, index) => tryPassword([a, b][index % 2]?.url ?? '', 'wrong')),
    );
    expect(given.filter(({ status }) => status === 401)).toHaveLength(5);
    const refused = given.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(7);
    for (const answer of refused)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    for (const { url } of [a, b]) expect((await tryPassword(url, PASSWORD)).status).toBe(429);
  });

  test('the password of the process that started last applies everywhere, and ends all sessions once', async () => {
    const { open } = await testDatabase();
    const first = await startTestConsole({ store: await open(SHORT), login });
    const cookie = await logIn(first.url, PASSWORD);
    const tab = await openTab(first.url, { cookie });
    const changed = { login: { password: 'another horse battery' } };
    const second = await startTestConsole({ store: await open(SHORT), hasBot: false, ...changed });
    for (const { url } of [first, second])
      await eventually(async () => (await statusAt(url, cookie)) === 401);
    await eventually(() => tab.ended);
    const again = await logIn(first.url, changed.login.password);
    expect(await statusAt(second.url, again)).toBe(200);
    expect((await tryPassword(second.url, PASSWORD)).status).toBe(401);
    const third = await startTestConsole({ store: await open(SHORT), hasBot: false, ...changed });
    for (const { url } of [first, second, third]) expect(await statusAt(url, again)).toBe(200);
  });

  test('a process without its database lets nobody in', async () => {
    const { open, query } = await testDatabase();
    const console = await startTestConsole({ store: await open(SHORT), hasBot: false, login });
    const cookie = await logIn(console.url, PASSWORD);
    await query('alter table #.document rename to hidden');
    await eventually(async () => (await statusAt(console.url, cookie)) === 503, {
      withinMs: 30_000,
    });
    await query('alter table #.hidden rename to document');
    await eventually(async () => (await statusAt(console.url, cookie)) === 200);
  });
});
