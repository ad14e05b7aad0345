import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { openTab, startTestConsole, type TestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';

const card = (title: string): Card => ({ tone: 'info', title, parts: [] });

const postTo = ({ console }: TestConsole, title: string) =>
  console.post({ channel: 'general', card: card(title), id: title, attempted: false });

describe('the event stream', () => {
  test('asks a proxy such as nginx not to buffer it', async () => {
    const { url } = await startTestConsole();
    const abort = new AbortController();
    const { headers } = await fetch(`${url}/console/events`, { signal: abort.signal });
    abort.abort();
    expect(headers.get('x-accel-buffering')).toBe('no');
  });

  test('begins with a snapshot, and after a break goes on with what was missed', async () => {
    const started = await startTestConsole();
    const first = await openTab(started.url);
    await eventually(() => first.heard.length === 1);
    expect(first.heard[0]?.kind).toBe('snapshot');
    await postTo(started, 'one');
    await eventually(() => first.heard.length === 2);
    first.close();
    await postTo(started, 'two');
    await postTo(started, 'three');

    const again = await openTab(started.url, {
      cookie: first.cookie,
      lastEventId: first.lastEventId,
    });
    await eventually(() => again.heard.length === 2);
    expect(again.heard.map(({ kind }) => kind)).toEqual(['message', 'message']);
    expect(JSON.stringify(again.heard)).toMatch(/two.*three/);
  });

  test('goes on with what was meant for its reader, and with nothing that was told to somebody else only', async () => {
    const started = await startTestConsole();
    const { url, provider } = started;
    provider.answerWith('Just between us.');
    const [ann, bob] = [await openTab(url), await openTab(url)];
    await eventually(() => ann.lastEventId && bob.lastEventId);
    ann.close();
    bob.close();
    const { cookie } = ann;
    const asking = await openTab(url, { cookie });
    await asking.say('/ask private=true why?');
    await eventually(() =>
      asking.heard.some(
        (event) =>
          event.kind === 'message' &&
          event.listed.message.body.kind === 'answer' &&
          !event.listed.message.body.growing,
      ),
    );
    await postTo(started, 'for everyone');

    const kinds: string[][] = [];
    for (const { cookie, lastEventId } of [ann, bob]) {
      const again = await openTab(url, { cookie, lastEventId });
      await eventually(() => JSON.stringify(again.heard).includes('for everyone'));
      kinds.push(again.heard.map(({ kind }) => kind));
      const isAsker = cookie === ann.cookie;
      expect(JSON.stringify(again.heard).includes('between us')).toBe(isAsker);
    }
    expect(kinds[0]).toEqual(expect.arrayContaining(['person', 'message', 'text']));
    // Who spoke is news for everyone; what they were told is not.
    expect(kinds[1]).toEqual(['person', 'message']);
  });

  test('takes the last event from the address too, for a reconnect that the page makes itself', async () => {
    const started = await startTestConsole();
    const first = await openTab(started.url);
    await eventually(() => first.lastEventId);
    await postTo(started, 'one');
    const url = `${started.url}/console/events?after=${first.lastEventId}`;
    const response = await fetch(url);
    const reader = response.body?.getReader();
    let text = '';
    while (reader && !text.includes('data:')) {
      text += new TextDecoder().decode((await reader.read()).value);
    }
    await reader?.cancel();
    expect(text).toContain('"kind":"message"');
    expect(text).not.toContain('snapshot');
  });

  test('begins anew after an event that is unknown', async () => {
    const { url } = await startTestConsole();
    for (const lastEventId of ['', 'nonsense', 'abcd1234-7', 'abcd1234-', '-5']) {
      const tab = await openTab(url, { lastEventId });
      await eventually(() => tab.heard.length > 0);
      expect([lastEventId, tab.heard[0]?.kind]).toEqual([lastEventId, 'snapshot']);
    }
  });

  test('begins anew when too much was missed', async () => {
    const started = await startTestConsole();
    const first = await openTab(started.url);
    await eventually(() => first.lastEventId);
    first.close();
    const big = {
      tone: 'info' as const,
      parts: [{ kind: 'code' as const, text: 'x'.repeat(16_000) }],
    };
    const posted = await postTo(started, 'big');
    for (let index = 0; index < 80; index++) {
      await started.console.update('general', posted, { ...big, title: `big ${index}` });
    }
    const again = await openTab(started.url, { lastEventId: first.lastEventId });
    await eventually(() => again.heard.length > 0);
    expect(again.heard[0]?.kind).toBe('snapshot');
  });

  test('a browser that does not read is cut off, and the others go on', async () => {
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

  test('is refused beyond 64 at once', async () => {
    const { url } = await startTestConsole();
    await Promise.all(Array.from({ length: 64 }, () => openTab(url)));
    await expect(openTab(url)).rejects.toThrow('503');
  });
});
