import { describe, expect, test } from 'vitest';
import { post, saying, startTestConsole, statusOf } from './test-console.ts';

/** What changes something. */
const WRITES = ['sayings', 'presses', 'forms', 'dismissals', 'name', 'channels'];

describe('the console answers', () => {
  test.each(['localhost', 'localhost:3000', '127.0.0.1:80', '[::1]:3000', 'LOCALHOST:1'])(
    'under the name %s',
    async (host) => {
      const { url } = await startTestConsole();
      expect(await statusOf(url, { host })).toBe(200);
    },
  );

  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example:3000',
    'evil.example:127.0.0.1',
    '10.0.0.1',
    '[::2]:3000',
    'localhost:3000@evil.example',
  ])('not under the name %s, whatever is asked for', async (host) => {
    const { url } = await startTestConsole();
    for (const path of [
      '/',
      '/console/playground.js',
      '/console/playground.css',
      '/console/icon.svg',
      '/console/events',
      '/console/threads/x',
      '/console/channels/general/messages?before=x',
      '/console/suggestions?input=monitor&typed=',
    ]) {
      expect([path, await statusOf(url + path, { host })]).toEqual([path, 403]);
    }
    const headers = { host, origin: `http://${host}`, 'content-type': 'application/json' };
    const body = JSON.stringify(saying('/monitor list'));
    for (const path of WRITES) {
      const asked = statusOf(`${url}/console/${path}`, headers, { method: 'POST', body });
      expect([path, await asked]).toEqual([path, 403]);
    }
  });
});

describe('a saying is taken', () => {
  test('from the page itself, by its origin or by what the browser says of the site', async () => {
    const { url } = await startTestConsole();
    expect((await post(url, saying('/monitor list'))).status).toBe(200);
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    const body = JSON.stringify(saying('/monitor list'));
    expect(await statusOf(`${url}/console/sayings`, headers, { method: 'POST', body })).toBe(200);
  });

  test.each([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    {},
  ] as Array<Record<string, string>>)('not from elsewhere: %j', async (given) => {
    const { url, provider } = await startTestConsole();
    const headers = { 'content-type': 'application/json', ...given };
    const body = JSON.stringify(saying('/ask hello'));
    expect(await statusOf(`${url}/console/sayings`, headers, { method: 'POST', body })).toBe(403);
    expect(provider.calls).toHaveLength(0);
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])(
    'as JSON only, not as %s',
    async (type) => {
      const { url } = await startTestConsole();
      const response = await post(url, saying('/ask hello'), { 'content-type': type });
      expect(response.status).toBe(415);
    },
  );

  test.each([
    { id: 'not-a-uuid' },
    { channel: undefined },
    { channel: 'x'.repeat(51) },
    { text: '' },
    { text: '   ' },
    { text: 'x'.repeat(16_001) },
    { text: 7 },
    { thread: 'x'.repeat(101) },
    { extra: true },
  ])('only whole and in size: %j', async (wrong) => {
    const { url } = await startTestConsole();
    const response = await post(url, { ...saying('/ask hello'), ...wrong });
    expect(response.status).toBe(400);
  });

  test('for a channel that is there', async () => {
    const { url } = await startTestConsole();
    const response = await post(url, { ...saying('/ask hello'), channel: 'ops' });
    expect(response.status).toBe(404);
  });

  test('only while the console runs', async () => {
    const { url, console, bot } = await startTestConsole();
    await bot.stop();
    await console.stop();
    expect((await post(url, saying('/ask hello'))).status).toBe(503);
    expect((await fetch(`${url}/console/events`)).status).toBe(503);
  });
});

test.each(WRITES)('nothing is changed for another site: %s', async (path) => {
  const { url } = await startTestConsole();
  const body = JSON.stringify({ name: 'evil' });
  const post = { method: 'POST', body };
  for (const given of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'same-site' }, {}]) {
    const headers = { 'content-type': 'application/json', ...given };
    expect(await statusOf(`${url}/console/${path}`, headers, post)).toBe(403);
  }
  const headers = { 'content-type': 'text/plain', origin: url };
  expect(await statusOf(`${url}/console/${path}`, headers, post)).toBe(415);
});

describe('events and threads are told', () => {
  test.each([{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])(
    'not to another site: %j',
    async (headers) => {
      const { url } = await startTestConsole();
      for (const path of [
        '/console/events',
        '/console/threads/x',
        '/console/channels/general/messages?before=x',
        '/console/suggestions?input=monitor&typed=',
      ]) {
        const asked = statusOf(url + path, headers as Record<string, string>);
        expect([path, await asked]).toEqual([path, 403]);
      }
    },
  );
});

test('every answer forbids the browser what the page does not need', async () => {
  const { url } = await startTestConsole();
  for (const path of ['/', '/console/playground.js', '/console/events', '/console/threads/x']) {
    const { headers } = await fetch(url + path);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('the page loads nothing from elsewhere and has no script of its own in it', async () => {
  const { url } = await startTestConsole();
  const html = await (await fetch(url)).text();
  expect(html).not.toMatch(/https?:\/\//);
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/);
  for (const [, path] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
    const asset = await fetch(url + path);
    expect([path, asset.status]).toEqual([path, 200]);
  }
});

test('its routes stay out of the OpenAPI document', async () => {
  const { url } = await startTestConsole();
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
  expect(
    Object.keys(document.paths).filter((path) => path === '/' || /console/.test(path)),
  ).toEqual([]);
});
