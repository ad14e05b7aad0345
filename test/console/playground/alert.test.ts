import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { RootMessage } from '../../../src/console/shared/api-types.ts';
import type { Collection } from '../../../src/store/store.ts';
import { cardOf, receivedReplies } from '../../helpers/console/messages.ts';
import {
  listedAt,
  openTab,
  repliesOf,
  startTestConsole,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const ALERT: Card = { tone: 'bad', title: 'Shop is down', parts: [] };
const OVER: Card = { tone: 'good', title: 'Shop recovered after 5 minutes', parts: [] };
const post = { channel: 'general', card: ALERT, id: 'a1', attempted: false };

/** A console with an alert, and a function that announces its end. */
async function startWithAlert(folder?: string) {
  const running = await startTestConsole(folder === undefined ? {} : { folder });
  const posted = await running.console.post(post);
  const line = { channel: 'general', posted, card: OVER, id: 'a1/end', attempted: false };
  const announce = (more: Partial<typeof line> = {}) =>
    running.console.announce({ ...line, ...more });
  return { ...running, posted, announce };
}

test.each([true, false])(
  'a repeated post says whether the shown alert is ongoing: %s',
  async (goesOn) => {
    const { console } = await startTestConsole();
    await console.post({ ...post, card: { ...ALERT, goesOn } });
    const again = { ...post, attempted: true, card: { ...ALERT, goesOn: !goesOn } };
    expect(await console.post(again)).toMatchObject({ goesOn });
  },
);

test('an announcement is a reply under its alert in every open tab, and the channel counts it', async () => {
  const { url, posted, announce } = await startWithAlert();
  const tabs = [await openTab(url), await openTab(url)];
  await announce();
  for (const tab of tabs) {
    const [reply] = await eventually(() => receivedReplies(tab).length > 0 && receivedReplies(tab));
    expect(reply && cardOf(reply)).toEqual(OVER);
    const listed = await eventually(() => tab.heard.findLast(({ kind }) => kind === 'message'));
    expect(listed).toMatchObject({ listed: { thread: { replies: 1 } } });
  }
  expect((await repliesOf(url, posted.thread)).map(cardOf)).toEqual([OVER]);
  expect((await listedAt(url)).map(cardOf)).toEqual([ALERT]);
});

test('a repeated announcement is one reply, also after a failed write and a restart', async () => {
  const folder = await temporaryFolder();
  const { url, messages, posted, announce, stop } = await startWithAlert(folder);
  loseNextAnswer(messages);
  await expect(announce()).rejects.toMatchObject({ name: 'DeliveryError', permanent: false });
  await announce({ attempted: true });
  await announce({ attempted: true });
  expect((await repliesOf(url, posted.thread)).map(cardOf)).toEqual([OVER]);
  await stop();
  const after = await startWithAlert(folder);
  await after.announce({ attempted: true });
  expect((await repliesOf(after.url, posted.thread)).map(cardOf)).toEqual([OVER]);
});

test('an announcement for a deleted alert is refused for good', async () => {
  const { announce } = await startWithAlert();
  const gone = { message: 'pgone', thread: 'pgone' };
  const tried = announce({ posted: gone });
  await expect(tried).rejects.toMatchObject({ name: 'DeliveryError', permanent: true });
  await expect(tried).rejects.toThrow(/make room/);
});

const FINDINGS: Card = { tone: 'info', title: 'Looking into it', parts: [] };
const findings = { channel: 'general', card: FINDINGS, id: 'a1/findings', attempted: false };

test('a card under an alert is one reply over a failed write and a restart, and is changed there', async () => {
  const folder = await temporaryFolder();
  const { url, console, messages, posted, stop } = await startWithAlert(folder);
  const post = { ...findings, under: posted };
  loseNextAnswer(messages);
  await expect(console.post(post)).rejects.toMatchObject({ permanent: false });
  const reply = await console.post({ ...post, attempted: true });
  expect(reply.thread).toBe(posted.thread);
  const tab = await openTab(url);
  const found: Card = { ...FINDINGS, title: 'The disk is full' };
  await console.update('general', reply, found);
  const [changed] = await eventually(() => receivedReplies(tab).length > 0 && receivedReplies(tab));
  expect(changed).toMatchObject({ id: reply.message, changedAtMs: expect.any(Number) });
  await stop();
  const after = await startWithAlert(folder);
  expect((await repliesOf(after.url, posted.thread)).map(cardOf)).toEqual([found]);
  expect((await listedAt(after.url)).map(cardOf)).toEqual([ALERT]);
  await after.console.update('general', reply, FINDINGS);
  expect((await repliesOf(after.url, posted.thread)).map(cardOf)).toEqual([FINDINGS]);
});

test('findings and facts keep their web links over a restart, and no other address', async () => {
  const folder = await temporaryFolder();
  const { console, stop } = await startTestConsole({ folder });
  const item = { atMs: 1, text: 'Deployed', url: 'https://ci.example/1' };
  const evil = ['javascript:alert(1)', 'https://bank.example@evil.example'];
  const items = [item, ...evil.map((url) => ({ ...item, url }))];
  const part = { kind: 'findings' as const, heading: 'Found', items };
  const linkTo = (url: string) => ({ label: 'Deploy', value: { text: 'v1.2', url } });
  const facts = { kind: 'facts' as const, facts: [item.url, ...evil].map(linkTo) };
  await console.post({ ...post, card: { ...ALERT, parts: [part, facts] } });
  await stop();
  const { url } = await startTestConsole({ folder });
  const shown = { ...part, items: [item, ...evil.map(() => ({ atMs: 1, text: 'Deployed' }))] };
  expect((await listedAt(url)).map(cardOf)).toEqual([
    {
      ...ALERT,
      parts: [
        shown,
        {
          ...facts,
          facts: [linkTo(item.url), ...evil.map(() => ({ label: 'Deploy', value: 'v1.2' }))],
        },
      ],
    },
  ]);
});

test('a card under a deleted alert, and a change of a deleted reply, are refused for good', async () => {
  const { console, posted } = await startWithAlert();
  const gone = { message: 'pgone', thread: 'pgone' };
  const refusal = { name: 'DeliveryError', permanent: true };
  await expect(console.post({ ...findings, under: gone })).rejects.toMatchObject(refusal);
  for (const thread of ['pgone', posted.thread]) {
    const reply = { message: 'pnone', thread };
    await expect(console.update('general', reply, FINDINGS)).rejects.toMatchObject(refusal);
  }
});

/** Makes the next write succeed but reject, as when a disk fails late. */
function loseNextAnswer(messages: Collection<RootMessage>) {
  const { update } = messages;
  messages.update = async (...args) => {
    await update.apply(messages, args);
    messages.update = update;
    throw new Error('the disk is full');
  };
}

test('a card keeps its web link over a restart, and notifies nobody', async () => {
  const folder = await temporaryFolder();
  const { url, console, stop } = await startTestConsole({ folder });
  const link = { label: 'Runbook', url: 'https://wiki.example/shop' };
  await console.post({ ...post, card: { ...ALERT, link, mention: 'S0614TZR7' } });
  const evil = { label: 'Runbook', url: 'javascript:alert(1)' };
  await console.post({ ...post, id: 'a2', card: { ...ALERT, link: evil } });
  const shown = [{ ...ALERT, link }, ALERT];
  expect((await listedAt(url)).map(cardOf)).toEqual(shown);
  await stop();
  const after = await startTestConsole({ folder });
  expect((await listedAt(after.url)).map(cardOf)).toEqual(shown);
});
