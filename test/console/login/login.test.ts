import { describe, expect, test } from 'vitest';
import {
  answerOf,
  logIn,
  openTab,
  post,
  postPress,
  saying,
  startTestConsole,
  tryPassword,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { storedText } from '../../helpers/test-store.ts';

const PASSWORD = 'correct horse battery';
const OTHER_PASSWORD = 'another horse battery';
const DAY_MS = 24 * 3_600_000;

const login = { password: PASSWORD };
const events = (url: string) => `${url}/console/events`;

/** The status with which a thread that is not there is refused: 404 for who may know that, else 401. */
const threadStatus = async (url: string, cookie: string) =>
  (await fetch(`${url}/console/threads/x`, { headers: { cookie } })).status;

describe('a visitor who is not logged in', () => {
  test('a page leads a stranger to the login and back', async () => {
    const { url } = await startTestConsole({ login });
    const asked = await fetch(`${url}/?a=1&b=%2F`, { redirect: 'manual' });
    expect(asked.status).toBe(303);
    const place = asked.headers.get('location') ?? '';
    expect(place).toBe(`/login?to=${encodeURIComponent('/?a=1&b=%2F')}`);
    expect((await fetch(url + place, { redirect: 'manual' })).status).toBe(200);

    const cookie = await logIn(url, PASSWORD);
    const back = await fetch(url + place, { redirect: 'manual', headers: { cookie } });
    expect([back.status, back.headers.get('location')]).toEqual([303, '/?a=1&b=%2F']);
    expect((await fetch(`${url}/?a=1`, { redirect: 'manual', headers: { cookie } })).status).toBe(
      200,
    );
  });

  test('a stranger reads and changes nothing', async () => {
    const { url, provider } = await startTestConsole({ login });
    for (const asked of [
      fetch(events(url)),
      fetch(`${url}/console/threads/x`),
      post(url, saying('/ask hello')),
      postPress(url, { action: 'x' }),
    ]) {
      const response = await asked;
      expect(response.status).toBe(401);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe('not_logged_in');
      expect(error.message).toContain('/login');
    }
    expect(provider.calls).toHaveLength(0);
  });

  test('other cookies let nobody in', async () => {
    const { url } = await startTestConsole({ login });
    for (const cookie of [
      'askwatch-session=',
      'askwatch-session=x',
      `askwatch-session=${'A'.repeat(43)}`,
      `askwatch-session=${'A'.repeat(8_000)}`,
      'askwatch-session',
      '=; ;;=; askwatch-session==; ;',
      '__Host-askwatch-session=__proto__; askwatch-session=constructor',
      'askwatch-session=\u00ff\u0080',
    ]) {
      const { status } = await answerOf(`${url}/console/threads/x`, { cookie });
      expect([cookie, status]).toEqual([cookie, 401]);
    }
  });
});

describe('the login', () => {
  test('the login accepts only the password, in any Unicode form', async () => {
    const password = 'Gänsefüßchen-Möbel';
    const { url } = await startTestConsole({ login: { password } });
    for (const right of [password, password.normalize('NFD'), ` ${password} \n`]) {
      expect((await tryPassword(url, right)).status).toBe(200);
    }
    for (const wrong of ['x', password.slice(0, -1), `${password}x`, password.toUpperCase()]) {
      const response = await tryPassword(url, wrong);
      expect(response.status).toBe(401);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(await response.json()).toMatchObject({ error: { code: 'wrong_password' } });
    }
  });

  test('the session cookie is hidden from scripts and other sites', async () => {
    const { url } = await startTestConsole({ login });
    const [cookie = '', ...more] = (await tryPassword(url, PASSWORD)).headers.getSetCookie();
    expect(more).toEqual([]);
    expect(cookie).toMatch(
      /^askwatch-session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
    );
  });

  test('the session cookie is kept to HTTPS if the browser uses it', async () => {
    const { url } = await startTestConsole({ login });
    const overHttps: Array<Record<string, string>> = [
      { 'x-forwarded-proto': 'https' },
      { 'x-forwarded-proto': 'HTTPS, http' },
      { origin: 'https://ask.example.com', host: 'ask.example.com' },
      // A proxy that puts in its own name for us: then the browser's word counts.
      { origin: 'https://ask.example.com', 'sec-fetch-site': 'same-origin' },
    ];
    for (const headers of overHttps) {
      const answer = await answerOf(
        `${url}/console/login`,
        { origin: url, 'content-type': 'application/json', ...headers },
        { method: 'POST', body: JSON.stringify({ password: PASSWORD }) },
      );
      const [cookie = ''] = answer.headers['set-cookie'] ?? [];
      expect(cookie).toMatch(
        /^__Host-askwatch-session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      );
      expect(await threadStatus(url, cookie.split(';')[0] ?? '')).toBe(404);
    }
  });

  test('requests from other sites cannot log in or out', async () => {
    const { url } = await startTestConsole({ login });
    const cookie = await logIn(url, PASSWORD);
    const elsewhere: Array<Record<string, string>> = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      {},
    ];
    for (const given of elsewhere) {
      const headers = { 'content-type': 'application/json', cookie, ...given };
      for (const path of ['login', 'logout', 'sayings']) {
        const body = JSON.stringify({ password: PASSWORD });
        const answer = await answerOf(`${url}/console/${path}`, headers, { method: 'POST', body });
        expect([given, path, answer.status]).toEqual([given, path, 403]);
        expect(answer.headers['set-cookie']).toBeUndefined();
      }
    }
    expect(await threadStatus(url, cookie)).toBe(404);
  });

  test('the login accepts only small JSON, and never repeats its input', async () => {
    const { url } = await startTestConsole({ login });
    const send = (body: string, type = 'application/json') =>
      fetch(`${url}/console/login`, {
        method: 'POST',
        headers: { origin: url, 'content-type': type },
        body,
      });
    const secret = 'sesame-sesame';
    const tries: Array<[Response, number]> = [
      [await send(`password=${secret}`, 'application/x-www-form-urlencoded'), 415],
      [await send(JSON.stringify({ password: secret }), 'text/plain'), 415],
      [await send(`{"password":"${secret}`), 400],
      [await send(JSON.stringify({ password: [secret] })), 400],
      [await send(JSON.stringify({ password: secret, more: secret })), 400],
      [await send(JSON.stringify({ password: '' })), 400],
      [await send(JSON.stringify({ password: secret.repeat(100) })), 400],
      [await send(JSON.stringify({ password: secret.repeat(1_000) })), 413],
    ];
    for (const [response, status] of tries) {
      expect(response.status).toBe(status);
      expect(await response.text()).not.toContain(secret);
    }
  });

  test('the login page redirects at once without a password', async () => {
    const { url } = await startTestConsole();
    const answer = await fetch(`${url}/login?to=%2F%3Fa`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/?a']);
    expect((await tryPassword(url, PASSWORD)).status).toBe(404);
  });
});

describe('a visitor who guesses passwords', () => {
  test('five simultaneous guesses are checked, and then even the right password is refused', async () => {
    const { url, lines } = await startTestConsole({ login });
    const statuses = await Promise.all(
      Array.from(
        { length: 30 },
        async (_, index) => (await tryPassword(url, `guess ${index}`)).status,
      ),
    );
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(25);
    const refused = await tryPassword(url, PASSWORD);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    const told = lines.filter(({ msg }) => msg === 'a console login failed: wrong password');
    expect(told).toHaveLength(5);
    expect(JSON.stringify(lines)).not.toContain('guess 0');
  });

  test('a forged forwarding header does not give a guesser more attempts', async () => {
    const { url } = await startTestConsole({ login });
    const statuses: number[] = [];
    for (const index of [1, 2, 3, 4, 5, 6]) {
      const headers = { 'x-forwarded-for': `192.0.2.${index}`, forwarded: `for=192.0.2.${index}` };
      statuses.push((await tryPassword(url, 'a guess', headers)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  });
});

describe('a person who is logged in', () => {
  test('only a cookie of a session gives a browser its own attempts', async () => {
    const { url } = await startTestConsole({ login });
    const [mine, over] = [await logIn(url, PASSWORD), await logIn(url, PASSWORD)];
    await fetch(`${url}/console/logout`, {
      method: 'POST',
      headers: { origin: url, cookie: over, 'content-type': 'application/json' },
      body: '{}',
    });
    const made = `askwatch-session=${'A'.repeat(43)}`;
    const statuses: number[] = [];
    for (const cookie of ['', over, made, `${made}; ${over}`, '', over, made]) {
      statuses.push((await tryPassword(url, 'x', { cookie })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    const own: Response[] = [];
    for (let index = 0; index < 6; index += 1) {
      own.push(await tryPassword(url, 'x', { cookie: `${made}; ${mine}` }));
    }
    expect(own.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await own.at(-1)?.json()).toMatchObject({
      error: { message: expect.stringContaining('from this browser') },
    });
    expect(await threadStatus(url, mine)).toBe(404);
  });

  test('a logged-in browser does not wait behind strangers', async () => {
    const { url } = await startTestConsole({
      login: { ...login, cost: 2 ** 12 },
      trustedProxies: ['127.0.0.1'],
    });
    const cookie = await logIn(url, PASSWORD);
    let answered = 0;
    const strangers = Array.from({ length: 12 }, async (_, index) => {
      await tryPassword(url, 'x', { 'x-forwarded-for': `198.51.100.${index}` });
      answered += 1;
    });
    await eventually(() => answered > 0, { what: 'the first stranger to be answered' });
    expect((await tryPassword(url, PASSWORD, { cookie })).status).toBe(200);
    expect(answered).toBeLessThan(10);
    await Promise.all(strangers);
  });
});

describe('behind a trusted proxy', () => {
  const from = (forwarded: string) => ({ 'x-forwarded-for': forwarded });

  test('behind a trusted proxy, a guesser is known by the address that the proxy reports', async () => {
    const { url, lines } = await startTestConsole({ login, trustedProxies: ['127.0.0.1/32'] });
    const statuses: number[] = [];
    for (const index of [1, 2, 3, 4, 5, 6]) {
      const forwarded = from(`198.51.100.${index}, 192.0.2.1:${index}`);
      statuses.push((await tryPassword(url, 'a guess', forwarded)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await tryPassword(url, PASSWORD, from('192.0.2.1'))).status).toBe(429);
    expect((await tryPassword(url, PASSWORD, from('192.0.2.2'))).status).toBe(200);
    const told = lines.filter(({ msg }) => msg === 'a console login failed: wrong password');
    expect(told.map(({ address }) => address)).toEqual(Array(5).fill('192.0.2.1'));
  });

  test('behind a trusted proxy, the own origin is the one that the proxy reports', async () => {
    const trusting = await startTestConsole({ login, trustedProxies: ['127.0.0.1/32'] });
    const other = await startTestConsole({ login, trustedProxies: ['192.0.2.1/32'] });
    // An old browser, which does not say itself what site it is on, and a proxy that puts its own name for us.
    const headers = {
      'content-type': 'application/json',
      origin: 'https://ask.example.com',
      'x-forwarded-for': '192.0.2.7',
      'x-forwarded-host': 'evil.example, ask.example.com',
    };
    const body = JSON.stringify({ password: PASSWORD });
    const logInAt = ({ url }: { url: string }, more: Record<string, string> = {}) =>
      answerOf(`${url}/console/login`, { ...headers, ...more }, { method: 'POST', body });
    expect((await logInAt(trusting)).status).toBe(200);
    expect((await logInAt(trusting, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await logInAt(trusting, { origin: trusting.url })).status).toBe(403);
    expect((await logInAt(other)).status).toBe(403);
  });
});

describe('a session', () => {
  const logOut = (url: string, cookie: string) =>
    fetch(`${url}/console/logout`, {
      method: 'POST',
      headers: { origin: url, cookie, 'content-type': 'application/json' },
      body: '{}',
    });

  test('a logout ends its session and its streams, and no other', async () => {
    const { url } = await startTestConsole({ login });
    const [mine, other] = [await logIn(url, PASSWORD), await logIn(url, PASSWORD)];
    const [tab, second, otherTab] = [
      await openTab(url, { cookie: mine }),
      await openTab(url, { cookie: mine }),
      await openTab(url, { cookie: other }),
    ];
    const answer = await logOut(url, mine);
    expect(answer.status).toBe(200);
    for (const [index, start] of ['askwatch-session=;', '__Host-askwatch-session=;'].entries()) {
      const cleared = answer.headers.getSetCookie()[index] ?? '';
      expect(cleared.startsWith(start)).toBe(true);
      expect(cleared).toContain('Max-Age=0');
    }
    await eventually(() => tab.ended && second.ended, { what: 'the streams to end' });
    expect(otherTab.ended).toBe(false);
    expect(await threadStatus(url, mine)).toBe(401);
    expect(await threadStatus(url, other)).toBe(404);
  });

  test('a login never adopts the session of a planted cookie', async () => {
    const { url } = await startTestConsole({ login });
    const planted = `askwatch-session=${'A'.repeat(43)}`;
    const response = await tryPassword(url, PASSWORD, { cookie: planted });
    const [given = ''] = response.headers.getSetCookie();
    expect(given.startsWith(planted)).toBe(false);
    expect(await threadStatus(url, planted)).toBe(401);
    // A planted cookie does not hide the right one.
    expect(await threadStatus(url, `${planted}; ${given.split(';')[0]}`)).toBe(404);
  });

  test('the next login of a browser replaces its session', async () => {
    const { url } = await startTestConsole({ login });
    const first = await logIn(url, PASSWORD);
    expect((await tryPassword(url, PASSWORD, { cookie: first })).status).toBe(200);
    expect(await threadStatus(url, first)).toBe(401);
  });

  test('a session ends with its streams after a week without use, or after a month', async () => {
    let now = Date.now();
    const { url, sessions } = await startTestConsole({
      login: { ...login, nowMs: () => now, sweepEveryMs: 10 },
    });
    const [idle, used, open] = [
      await logIn(url, PASSWORD),
      await logIn(url, PASSWORD),
      await logIn(url, PASSWORD),
    ];
    const tab = await openTab(url, { cookie: open });
    for (let day = 0; day < 29; day += 1) {
      now += DAY_MS;
      expect(await threadStatus(url, used)).toBe(404);
      if (day === 7) expect(await threadStatus(url, idle)).toBe(401);
      await eventually(
        async () =>
          (await sessions.list()).filter(({ document }) => document.usedAtMs === now).length === 2,
        { what: 'the open page to count as a use, and both uses to be stored' },
      );
    }
    expect(tab.ended).toBe(false);
    now += DAY_MS;
    expect(await threadStatus(url, used)).toBe(401);
    await eventually(() => tab.ended, { what: 'the stream of the session to end' });
  });

  test('a session outlives a restart, but not a changed password', async () => {
    const folder = await temporaryFolder();
    const first = await startTestConsole({ folder, login });
    const cookie = await logIn(first.url, PASSWORD);
    await first.stop();

    const again = await startTestConsole({ folder, login });
    expect(await threadStatus(again.url, cookie)).toBe(404);
    await again.stop();

    const changed = await startTestConsole({ folder, login: { password: OTHER_PASSWORD } });
    expect(await threadStatus(changed.url, cookie)).toBe(401);
    expect((await tryPassword(changed.url, PASSWORD)).status).toBe(401);
    expect(await logIn(changed.url, OTHER_PASSWORD)).toMatch(/^askwatch-session=/);
    await changed.stop();

    const back = await startTestConsole({ folder, login });
    expect(await threadStatus(back.url, cookie)).toBe(401);
  });

  test('stored sessions contain nothing to log in with', async () => {
    const folder = await temporaryFolder();
    const { url, lines, stop } = await startTestConsole({ folder, login });
    const token = (await logIn(url, PASSWORD)).split('=')[1] ?? '';
    await threadStatus(url, `askwatch-session=${token}`);
    await stop();
    const all = `${await storedText(folder)}\n${JSON.stringify(lines)}`;
    expect(all).toContain('createdAtMs');
    expect(all).not.toContain(token);
    expect(all).not.toContain(Buffer.from(token, 'base64url').toString('hex'));
    expect(all).not.toContain(PASSWORD);
  });
});

test('a request with any header of a proxy is refused without a password', async () => {
  const { url } = await startTestConsole();
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via', 'x-forwarded-host']) {
    const answer = await answerOf(url, { [name]: '127.0.0.1' });
    expect([name, answer.status]).toEqual([name, 403]);
    expect(answer.body).toContain('CONSOLE_PASSWORD');
  }
});
