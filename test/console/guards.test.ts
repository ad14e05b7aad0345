import { describe, expect, test } from 'vitest';
import { createGuards, type Guards } from '../../src/console/safety.ts';
import { runningServer } from '../http/running-server.ts';
import { answerOf } from './test-console.ts';

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
  test('is there for anyone under any name, and all else is not', async () => {
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

  test('tells all on this machine, but not to the page of another site there', async () => {
    const url = await startGuarded(createGuards({ statusPublic: true }));
    const viewerOf = async (headers: Record<string, string>) =>
      JSON.parse((await answerOf(`${url}/statusFetch`, headers)).body).viewer;
    expect(await viewerOf({})).toBe('member');
    expect(await viewerOf({ 'sec-fetch-site': 'same-origin' })).toBe('member');
    expect(await viewerOf({ 'sec-fetch-site': 'cross-site' })).toBe('anyone');
    expect(await viewerOf({ origin: 'https://evil.example' })).toBe('anyone');
  });

  test('may be shown on other sites only as anyone sees it', async () => {
    const url = await startGuarded(createGuards({ statusPublic: true }));
    const policyOf = async (path: string, headers: Record<string, string>) =>
      (await answerOf(url + path, headers)).headers['cross-origin-resource-policy'];
    const elsewhere = { 'sec-fetch-site': 'cross-site' };
    expect(await policyOf('/statusFetch', elsewhere)).toBe('cross-origin');
    expect(await policyOf('/statusFetch', {})).toBe('same-origin');
    expect(await policyOf('/statusPage', elsewhere)).toBe('same-origin');
  });
});

test('a status page that is not public is guarded like the rest', async () => {
  const url = await startGuarded(createGuards());
  for (const name of ['file', 'statusPage', 'statusFetch']) {
    const { status } = await answerOf(`${url}/${name}`, { host: 'status.example.com' });
    expect([name, status]).toEqual([name, 403]);
  }
  const { status } = await answerOf(`${url}/statusFetch`, { 'sec-fetch-site': 'cross-site' });
  expect(status).toBe(403);
});
