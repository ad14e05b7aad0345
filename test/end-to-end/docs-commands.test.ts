import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { Message, Outcome } from '../../src/console/shared/api-types.ts';
import { openTab, repliesOf, type Tab } from '../helpers/console/test-console.ts';
import { sharedAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { writeWatchedPast } from '../helpers/end-to-end/watched-past.ts';
import { eventually } from '../helpers/eventually.ts';
import type { AtEnd } from '../helpers/temporary-folder.ts';

const ROOT = new URL('../../', import.meta.url);

const PAGES = [
  'README.md',
  ...readdirSync(new URL('docs/', ROOT))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Monitors that the examples of the documentation are about. */
const MONITORS = ['Database', 'Blog', 'Payments', 'My service'];

/** Commands that fail here by design, each with the reason. */
const REFUSED = new Map([['/askwatch forget', 'has to be typed in a thread']]);

/** Questions that only a model can answer; the offline engine says so. */
const FOR_A_MODEL = new Set(['/ask why is the sky blue']);

const askwatch = sharedAskwatch(async (atEnd, dataDir) => {
  const target = await startTarget(atEnd);
  await writeWatchedPast(`${dataDir}/data`, { target, atEnd });
  return {
    MONITOR_ALLOW_PRIVATE: '127.0.0.0/8',
    ALERTMANAGER_URL: 'http://alertmanager:9093',
    ALERT_POLL_SECONDS: '1',
  };
});

test('every chat command that the documentation shows works when it is typed', {
  timeout: 300_000,
}, async () => {
  const tab = await openTab(askwatch().url);
  for (const name of ['oncall', 'ops']) await tab.tell('channels', { name });
  await tab.tell('name', { name: 'alice' });
  await tab.say('hello');
  for (const [index, name] of MONITORS.entries()) {
    await typeInto(tab, `/monitor add http://127.0.0.${index + 2}:9 name="${name}"`);
  }

  const shown = new Map(PAGES.flatMap((page) => commandsOf(page).map((text) => [text, page])));
  const failed: string[] = [];
  for (const [text, page] of shown) {
    const problem = problemIn(text, await typeInto(tab, text));
    if (problem && !REFUSED.has(text)) failed.push(`${page}: ${text}\n  ${problem}`);
  }
  expect(failed).toEqual([]);
  expect(shown.size).toBeGreaterThan(40);
});

/**
 * Commands of a page with concrete values: lines of code, and code within a line. Patterns such as `<monitor>` and
 * the generated table, which shows only these, are left out.
 */
function commandsOf(page: string): string[] {
  const text = readFileSync(new URL(page, ROOT), 'utf8');
  const withoutTable = text.replace(/<!-- table -->.*<!-- \/table -->/s, '');
  const fences = [...withoutTable.matchAll(/^ *```\w*\n(.*?)^ *```$/gms)];
  const lines = fences.flatMap(([, code = '']) => code.split('\n'));
  const inline = withoutTable.replace(/^ *```.*?^ *```$/gms, '').matchAll(/`([^`]+)`/g);
  return [...lines, ...[...inline].map(([, code = '']) => code)]
    .map((line) => line.trim())
    .filter((line) => /^\/(?:ask|monitor|askwatch) \w/.test(line) && !/[<…]/.test(line));
}

/** Types a line in the channel and returns the message that it leads to, once that is whole; none for a form. */
async function typeInto(tab: Tab, text: string): Promise<Message | undefined> {
  const outcome = await tab.say(text);
  if (outcome.shown !== 'channel' && outcome.shown !== 'thread') return undefined;
  return await eventually(async () => {
    const message = await messageOf(tab, outcome);
    return message && !(message.body.kind === 'answer' && message.body.growing) && message;
  });
}

async function messageOf(tab: Tab, outcome: Outcome & { message: string }) {
  const listed = tab.heard
    .flatMap((event) => (event.kind === 'message' ? [event.listed.message] : []))
    .findLast(({ id }) => id === outcome.message);
  if (listed && listed.author.kind === 'askwatch') return listed;
  const replies = await repliesOf(askwatch().url, outcome.message, tab.cookie);
  return replies.findLast(({ author }) => author.kind === 'askwatch');
}

/** The reason a command failed, or a question was not understood. */
function problemIn(text: string, message: Message | undefined): string | undefined {
  if (message?.body.kind === 'card') {
    const { card } = message.body;
    return card.tone === 'warning' ? JSON.stringify(card).slice(0, 400) : undefined;
  }
  if (message?.body.kind !== 'answer' || FOR_A_MODEL.has(text)) return undefined;
  return message.body.footer?.startsWith('rules') ? undefined : message.body.text;
}

async function startTarget(atEnd: AtEnd): Promise<string> {
  const server = createServer((_request, response) => response.end('Cart'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
