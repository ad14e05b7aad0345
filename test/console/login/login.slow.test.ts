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
  test('a login at one process holds at both, and a logout ends both and their streams', async () => {
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

  test('counts wrong passwords over both, also those that are given at the same moment', async () => {
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
    expect(await a.tries.list()).toHaveLength(1);
    expect((await a.tries.list())[0]?.document.atMs).toHaveLength(5);
  });

  test('counts wrong passwords from all addresses over both', async () => {
    const trustedProxies = ['127.0.0.1/32'];
    const { a, b } = await twoConsoles({ login, trustedProxies });
    const given = await Promise.all(
      Array.from({ length: 80 }, (_, index) =>
        tryPassword([a, b][index % 2]?.url ?? '', 'wrong', {
          'x-forwarded-for': `192.0.2.${index}`,
        }),
      ),
    );
    const taken = given.filter(({ status }) => status === 401).length;
    // At the same moment two may refuse each other; never is there one too many.
    expect(taken).toBeLessThanOrEqual(60);
    expect(taken).toBeGreaterThan(30);
    expect((await a.tries.list()).length).toBe(taken);
  });

  test('right passwords count for no limit at either', async () => {
    const { a, b } = await twoConsoles({ login });
    for (let turn = 0; turn < 8; turn += 1) {
      expect((await tryPassword([a, b][turn % 2]?.url ?? '', PASSWORD)).status).toBe(200);
    }
    expect(await a.tries.list()).toEqual([]);
  });

  test('goes by the first password while a process lives that was started with it; then by another one, which ends all sessions once', async () => {
    const { open, query } = await testDatabase();
    const stores = await Promise.all([open(SHORT), open(SHORT), open(SHORT), open(SHORT)]);
    const without = { hasBot: false };
    const first = await startTestConsole({ ...without, store: stores[0], login });
    const cookie = await logIn(first.url, PASSWORD);
    const other = { login: { password: 'another horse battery' } };
    const second = await startTestConsole({ ...without, ...other, store: stores[1] });
    const third = await startTestConsole({ ...other, store: stores[2] });
    expect(await statusAt(second.url, cookie)).toBe(200);
    expect(await statusAt(first.url, cookie)).toBe(200);
    expect((await tryPassword(third.url, other.login.password)).status).toBe(401);
    expect((await tryPassword(third.url, PASSWORD)).status).toBe(200);
    expect(second.lines.some(({ msg }) => /different CONSOLE_PASSWORD/.test(String(msg)))).toBe(
      true,
    );
    // One more that was started with the first password holds it when the first one leaves.
    const last = await startTestConsole({ ...without, store: stores[3], login });
    const holder = async () =>
      (await query(`select holder, fence from #.lease where kind = 'console-password'`))[0];
    const before = await holder();
    await first.stop();
    await stores[0].close();
    await eventually(async () => {
      const now = await holder();
      return now?.holder !== null && now?.holder !== before?.holder;
    });
    expect((await tryPassword(third.url, PASSWORD)).status).toBe(200);
    const there = await openTab(third.url, { cookie });
    await last.stop();
    await stores[3].close();
    await eventually(() => there.ended);
    const isTaken = async () =>
      (await tryPassword(second.url, other.login.password)).status === 200;
    await eventually(isTaken);
    for (const { url } of [second, third])
      await eventually(async () => (await statusAt(url, cookie)) === 401);
    // The other process applies it a moment later, and accepts only a few wrong passwords.
    const again = await eventually(() => logIn(third.url, other.login.password), {
      everyMs: 400,
    });
    expect(await statusAt(second.url, again)).toBe(200);
    expect((await tryPassword(second.url, PASSWORD)).status).toBe(401);
    // Another process that starts with the old password changes nothing.
    const stray = await startTestConsole({ ...without, store: await open(SHORT), login });
    expect(await statusAt(stray.url, again)).toBe(200);
    expect(await statusAt(second.url, again)).toBe(200);
  });

  test('lets nobody in while it is not known which sessions have ended', async () => {
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
