import { describe, expect, onTestFinished, test } from 'vitest';
import { createGuards, type Guards } from '../../../src/console/login/guards.ts';
import { openLogin } from '../../../src/console/login/login.ts';
import { answerOf } from '../../helpers/console/test-console.ts';
import { runningServer } from '../../helpers/http/running-server.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

/** The address of a server with one route for each guard, at the guard's name, that tells who is looking. */
async function startGuarded(guards: Guards): Promise<string> {
  const { url } = await runningServer(({ server }) => {
    for (const name of ['file', 'page', 'fetch', 'statusPage', 'statusFetch'] as const) {
      server.get(`/${name}`, { onRequest: guards[name] }, (request) => ({
        viewer: guards.viewer(request),
      }));
    }
  });
  return url;
}

describe('a public status page', () => {
  test('a public status page is open to anyone, and nothing else is', async () => {
    const url = await startGuarded(createGuards({ statusPublic: true }));
    const headers = { host: 'status.example.com' };
    for (const name of ['file', 'statusPage', 'statusFetch']) {
      const answer = await answerOf(`${url}/${name}`, headers);
      expect([name, answer.status]).toEqual([name, 200]);
      expect(JSON.parse(answer.body)).toEqual({ viewer: 'anyone' });
      expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    }
    for (const name of ['page', 'fetch']) {
      expect([name, (await answerOf(`${url}/${name}`, headers)).status]).toEqual([name, 403]);
    }
  });

  test('a public status page shows everything on this machine, except to other sites', async () => {
    const url = await startGuarded(createGuards({ statusPublic: true }));
    const viewerOf = async (headers: Record<string, string>) =>
      JSON.parse((await answerOf(`${url}/statusFetch`, headers)).body).viewer;
    expect(await viewerOf({})).toBe('member');
    expect(await viewerOf({ 'sec-fetch-site': 'same-origin' })).toBe('member');
    expect(await viewerOf({ 'sec-fetch-site': 'cross-site' })).toBe('anyone');
    expect(await viewerOf({ origin: 'https://evil.example' })).toBe('anyone');
  });

  test('other sites may embed only the public answers', async () => {
    const url = await startGuarded(createGuards({ statusPublic: true }));
    const policyOf = async (path: string, headers: Record<string, string>) =>
      (await answerOf(url + path, headers)).headers['cross-origin-resource-policy'];
    const elsewhere = { 'sec-fetch-site': 'cross-site' };
    expect(await policyOf('/statusFetch', elsewhere)).toBe('cross-origin');
    expect(await policyOf('/statusFetch', {})).toBe('same-origin');
    expect(await policyOf('/statusPage', elsewhere)).toBe('same-origin');
  });
});

describe('a public status page of a console with a password', () => {
  async function startWithLogin() {
    const { log } = recordingLog();
    const store = await openTestStore({ log });
    const login = await openLogin({ password: 'correct horse battery', store, log });
    onTestFinished(async () => {
      login.close();
      await store.close();
    });
    const guards = createGuards({ login, statusPublic: true });
    const { url } = await runningServer(({ server }) => {
      for (const name of ['page', 'fetch', 'statusPage', 'statusFetch'] as const) {
        server.get(`/${name}`, { onRequest: guards[name] }, (request) => ({
          viewer: guards.viewer(request),
        }));
      }
      server.get('/stream', { onRequest: guards.statusFetch }, (_request, reply) => {
        reply.hijack();
        reply.raw.write('begun');
      });
      server.get('/in', async (request) => await login.logIn('correct horse battery', request));
      server.get('/out', async (request) => {
        await login.logOut(request);
        return {};
      });
    });
    const cookie = `askwatch-session=${await (await fetch(`${url}/in`)).text()}`;
    return { url, cookie };
  }

  test('only logged-in browsers see more than the public status page', async () => {
    const { url, cookie } = await startWithLogin();
    const host = 'ask.example.com';
    for (const name of ['statusPage', 'statusFetch']) {
      const asked: Array<Record<string, string>> = [
        { host },
        { host, cookie },
        { host, cookie, 'sec-fetch-site': 'cross-site' },
      ];
      const viewers = await Promise.all(
        asked.map(
          async (headers) => JSON.parse((await answerOf(`${url}/${name}`, headers)).body).viewer,
        ),
      );
      expect([name, ...viewers]).toEqual([name, 'anyone', 'member', 'anyone']);
    }
    expect((await answerOf(`${url}/page`, { host })).status).toBe(303);
    expect((await answerOf(`${url}/fetch`, { host })).status).toBe(401);
    expect((await answerOf(`${url}/fetch`, { host, cookie })).status).toBe(200);
  });
});
