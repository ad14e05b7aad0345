import { connect } from 'node:net';
import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { openTab, startTestConsole, type TestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';

const card = (title: string): Card => ({ tone: 'info', title, parts: [] });

const postTo = ({ console }: TestConsole, title: string) =>
  console.post({ channel: 'general', card: card(title), id: title, attempted: false });

test('the event stream asks a proxy such as nginx not to buffer it', async () => {
  const { url } = await startTestConsole();
  const abort = new AbortController();
  const { headers } = await fetch(`${url}/console/events`, { signal: abort.signal });
  abort.abort();
  expect(headers.get('x-accel-buffering')).toBe('no');
});

test('a browser that does not read is cut off, and the others continue', async () => {
  const started = await startTestConsole();
  const { port } = new URL(started.url);
  const deaf = connect(Number(port), '127.0.0.1');
  deaf.pause();
  let ended = false;
  deaf.on('close', () => {
    ended = true;
  });
  deaf.on('error', () => undefined);
  deaf.write(`GET /console/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  const tab = await openTab(started.url);
  await eventually(() => tab.heard.length > 0);
  const posted = await postTo(started, 'big');
  const parts = Array.from({ length: 20 }, () => ({
    kind: 'code' as const,
    text: 'x'.repeat(16_000),
  }));
  let updates = 0;
  await eventually(async () => {
    updates += 1;
    await started.console.update('general', posted, {
      tone: 'info',
      title: `big ${updates}`,
      parts,
    });
    // The kernel's buffers take some megabytes before anything waits here.
    return updates > 60;
  });
  deaf.resume();
  await eventually(() => ended);
  await eventually(() => JSON.stringify(tab.heard.at(-1)).includes(`big ${updates}`));
  expect(tab.ended).toBe(false);
});

test('the server refuses a 65th event stream', async () => {
  const { url } = await startTestConsole();
  await Promise.all(Array.from({ length: 64 }, () => openTab(url)));
  await expect(openTab(url)).rejects.toThrow('503');
});
