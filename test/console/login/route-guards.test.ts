import { describe, expect, test } from 'vitest';
import { post, saying, startTestConsole, statusOf } from '../../helpers/console/test-console.ts';

const READS = [
  '/',
  '/console/playground.js',
  '/console/playground.css',
  '/console/icon.svg',
  '/console/events',
  '/console/threads/x',
  '/console/channels/general/messages?before=x',
  '/console/suggestions?input=monitor&typed=',
];

/** Paths that change something. */
const WRITES = ['sayings', 'presses', 'forms', 'dismissals', 'name', 'channels'];

describe('the console answers', () => {
  test('the console answers under the names of this machine', async () => {
    const { url } = await startTestConsole();
    for (const host of [
      'localhost',
      'localhost:3000',
      '127.0.0.1:80',
      '[::1]:3000',
      'LOCALHOST:1',
    ]) {
      expect([host, await statusOf(url, { host })]).toEqual([host, 200]);
    }
  });

  test('the console refuses every request under another name', async () => {
    const { url } = await startTestConsole();
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example:3000',
      'evil.example:127.0.0.1',
      '10.0.0.1',
      '[::2]:3000',
      'localhost:3000@evil.example',
    ]) {
      for (const path of READS) {
        expect([host, path, await statusOf(url + path, { host })]).toEqual([host, path, 403]);
      }
      const headers = { host, origin: `http://${host}`, 'content-type': 'application/json' };
      const body = JSON.stringify(saying('/monitor list'));
      for (const path of WRITES) {
        const asked = statusOf(`${url}/console/${path}`, headers, { method: 'POST', body });
        expect([host, path, await asked]).toEqual([host, path, 403]);
      }
    }
  });
});

describe('a message is accepted', () => {
  test('a message is accepted from the page itself', async () => {
    const { url } = await startTestConsole();
    expect((await post(url, saying('/monitor list'))).status).toBe(200);
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    const body = JSON.stringify(saying('/monitor list'));
    expect(await statusOf(`${url}/console/sayings`, headers, { method: 'POST', body })).toBe(200);
  });

  test('an incomplete or too large message is refused', async () => {
    const { url } = await startTestConsole();
    for (const wrong of [
      { id: 'not-a-uuid' },
      { channel: undefined },
      { channel: 'x'.repeat(51) },
      { text: '' },
      { text: '   ' },
      { text: 'x'.repeat(16_001) },
      { text: 7 },
      { thread: 'x'.repeat(101) },
      { extra: true },
    ]) {
      const { status } = await post(url, { ...saying('/ask hello'), ...wrong });
      expect([wrong, status]).toEqual([wrong, 400]);
    }
  });

  test('a message to an unknown channel is refused', async () => {
    const { url } = await startTestConsole();
    const response = await post(url, { ...saying('/ask hello'), channel: 'ops' });
    expect(response.status).toBe(404);
  });

  test('a stopped console answers 503', async () => {
    const { url, console, bot } = await startTestConsole();
    await bot.stop();
    await console.stop();
    expect((await post(url, saying('/ask hello'))).status).toBe(503);
    expect((await fetch(`${url}/console/events`)).status).toBe(503);
  });
});

test('no route changes anything for another site', async () => {
  const { url } = await startTestConsole();
  const body = JSON.stringify({ name: 'evil' });
  const statusAt = (path: string, headers: Record<string, string>) =>
    statusOf(`${url}/console/${path}`, headers, { method: 'POST', body });
  const elsewhere: Array<Record<string, string>> = [
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site' },
    {},
  ];
  for (const path of WRITES) {
    for (const given of elsewhere) {
      const headers = { 'content-type': 'application/json', ...given };
      expect([path, given, await statusAt(path, headers)]).toEqual([path, given, 403]);
    }
    const asText = statusAt(path, { 'content-type': 'text/plain', origin: url });
    expect([path, await asText]).toEqual([path, 415]);
  }
});

describe('events and threads are sent', () => {
  test.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
  ])('no route answers another site: %j', async (headers) => {
    const { url } = await startTestConsole();
    for (const path of [
      '/console/events',
      '/console/threads/x',
      '/console/channels/general/messages?before=x',
      '/console/suggestions?input=monitor&typed=',
    ]) {
      const asked = statusOf(url + path, headers);
      expect([path, await asked]).toEqual([path, 403]);
    }
  });
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
