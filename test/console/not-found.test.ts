import { expect, test } from 'vitest';
import { startTestConsole } from '../helpers/console/test-console.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

test.each([
  ['a browser that looks for a page', '/nowhere', BROWSER, 'text/html'],
  ['a program', '/nowhere', '*/*', 'application/json'],
  ['who takes JSON', '/nowhere', 'application/json', 'application/json'],
  ['a browser at an address for programs', '/v1/nowhere', BROWSER, 'application/json'],
  ['a browser at a file that is not there', '/console/none.js', BROWSER, 'application/json'],
])('%s is told that there is nothing at %s', async (_who, path, accept, type) => {
  const { url } = await startTestConsole();
  const answer = await fetch(url + path, { headers: { accept } });
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-type')).toContain(type);
  expect(answer.headers.get('x-request-id')).toBeTruthy();
  const text = await answer.text();
  if (type === 'text/html') {
    expect(text).toContain('<a class="submit" href="/">');
    expect(text).not.toContain('<script');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  } else {
    expect(JSON.parse(text).error.message).toBe(`There is nothing at GET ${path}.`);
  }
});

test('what is sent to an address that leads nowhere is refused with JSON', async () => {
  const { url } = await startTestConsole();
  const answer = await fetch(`${url}/nowhere`, { method: 'POST', headers: { accept: BROWSER } });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    404,
    expect.stringContaining('application/json'),
  ]);
});
