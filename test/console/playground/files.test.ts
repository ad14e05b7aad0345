import { expect, onTestFinished, test } from 'vitest';
import {
  ConsoleFiles,
  filesCollection,
  piecesCollection,
} from '../../../src/console/playground/files.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import {
  openTab,
  repliesOf,
  startTestConsole,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { png } from '../../helpers/files/made-pictures.ts';
import { partsSaid, SEES } from '../../helpers/files/sending-bot.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const PICTURE = png();

async function startSeeing(options?: Parameters<typeof startTestConsole>[0]) {
  const provider = await startModelProvider({ models: [{ id: 'sees', ...SEES }] });
  onTestFinished(() => provider.close());
  return await startTestConsole({ ...options, provider });
}

/** Uploads a file as the page does. */
async function attach(tab: Tab, name: string, bytes: Buffer, channel = 'general') {
  const data = bytes.toString('base64');
  const response = await tab.tell('files', { channel, name, data });
  return { status: response.status, body: await response.json() };
}

const sayWith = async (tab: Tab, text: string, files: string[], more: object = {}) => {
  const id = crypto.randomUUID();
  const response = await tab.tell('sayings', {
    id,
    channel: 'general',
    text,
    files,
    ...more,
  });
  return { id, status: response.status, body: await response.json() };
};

const isOver = async (url: string, root: string, answers: number) =>
  (await repliesOf(url, root)).filter(({ body }) => body.kind === 'answer' && !body.growing)
    .length === answers;

test('the server shows an image inline and has any other file downloaded', async () => {
  const { url } = await startSeeing();
  const tab = await openTab(url);
  const fetched = async (id: string) => {
    const response = await fetch(`${url}/console/files/${id}`, { headers: { cookie: tab.cookie } });
    const { headers } = response;
    const named = ['content-type', 'content-disposition', 'x-content-type-options'];
    return {
      bytes: Buffer.from(await response.arrayBuffer()),
      headers: named.map((name) => headers.get(name)),
    };
  };
  const { body: picture } = await attach(tab, 'a b.png', PICTURE);
  expect(await fetched(picture.id)).toEqual({
    bytes: PICTURE,
    headers: ['image/png', "inline; filename*=UTF-8''a%20b.png", 'nosniff'],
  });
  const page = Buffer.from('<script>alert(1)</script>');
  const { body: text } = await attach(tab, `x"\r\nSet-Cookie: a=b; 'ü.html`, page);
  expect(await fetched(text.id)).toEqual({
    bytes: page,
    headers: [
      'application/octet-stream',
      "attachment; filename*=UTF-8''x%22%20Set-Cookie%3A%20a%3Db%3B%20%27%C3%BC.html",
      'nosniff',
    ],
  });
});

test.each([
  ['an archive', Buffer.from('PK\x03\x04'), 422, /an archive or an Office document/],
  ['nothing', Buffer.alloc(0), 422, /it is empty/],
  ['a picture that is cut off', PICTURE.subarray(0, 40), 422, /damaged or incomplete/],
  ['a picture of 50,000 pixels', png(2, 2, { says: [50_000, 50_000] }), 422, /50,000 × 50,000/],
  ['one that is too large', Buffer.alloc(4_500_001, 32), 400, /at most 4.5 MB/],
])('the server refuses %s when it is attached', async (_what, bytes, status, why) => {
  const { url } = await startSeeing();
  const tab = await openTab(url);
  const refused = await attach(tab, 'screen.png', bytes);
  expect(refused.status).toBe(status);
  expect(refused.body.error.message).toMatch(why);
});

test('the largest file is stored and read back', async () => {
  const { url, provider } = await startSeeing();
  const tab = await openTab(url);
  const large = png(2, 2, { padding: 4_499_000 });
  const { body } = await attach(tab, 'large.png', large);
  const { id } = await sayWith(tab, 'what is it?', [body.id]);
  await eventually(() => isOver(url, `q${id}`, 1));
  const address = `data:image/png;base64,${large.toString('base64')}`;
  expect(partsSaid(provider.calls[0] as never)[0]?.[2] === address).toBe(true);
});

test('a file of someone else, of another channel or that does not exist cannot be sent', async () => {
  const { url, provider } = await startSeeing();
  const [ada, bob] = [await openTab(url), await openTab(url)];
  const { body: adas } = await attach(ada, 'screen.png', PICTURE);
  await ada.tell('channels', { name: 'ops' });
  const { body: elsewhere } = await attach(ada, 'screen.png', PICTURE, 'ops');
  for (const [tab, id] of [
    [bob, adas.id],
    [ada, elsewhere.id],
    [ada, crypto.randomUUID()],
  ] as const) {
    const refused = await sayWith(tab, 'what is it?', [id]);
    expect(refused.status).toBe(404);
    expect(refused.body.error.message).toMatch(/no longer available\. Remove it/);
  }
  expect((await sayWith(ada, 'five?', Array(5).fill(adas.id))).status).toBe(400);
  expect(provider.calls).toEqual([]);
});

async function openFiles() {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  const index = store.collection(filesCollection);
  const pieces = store.collection(piecesCollection);
  const files = new ConsoleFiles(index, pieces);
  return { files, index, pieces, close: () => store.close() };
}

const OF = { channel: 'general', person: 'p1', name: 'a.txt' };

test('the oldest files and their content are removed for lack of room', async () => {
  const { files, index, pieces, close } = await openFiles();
  const atMs = Date.now();
  const entry = (no: number) => ({
    ...{ id: `old-${no}`, channel: 'general', person: 'p1', name: 'a', mediaType: 'text/plain' },
    ...{ bytes: 40_000_000, atMs, message: 'q1' },
  });
  await index.update('files', () => ({ files: [entry(1), entry(2)] }));
  await pieces.update('old-1 0', () => ({ base64: 'eA==' }));
  const { id } = await files.add({ ...OF, bytes: Buffer.alloc(4_000_000, 97) });
  expect((await index.get('files'))?.files.map((one) => one.id)).toEqual(['old-1', 'old-2', id]);
  await index.update('files', (all) => ({ files: [entry(0), ...(all?.files ?? [])] }));
  await pieces.update('old-0 0', () => ({ base64: 'eA==' }));
  await files.add({ ...OF, bytes: Buffer.from('text') });
  const left = (await index.get('files'))?.files.map((one) => one.id) ?? [];
  expect(left).not.toContain('old-0');
  expect(left).toContain('old-1');
  expect(await pieces.get('old-0 0')).toBeUndefined();
  await close();
});

test('files are removed with their deleted messages', async () => {
  const stored = Array.from({ length: 200 }, (_, no) => ({
    channel: 'general',
    message: {
      ...{ id: `m${no}`, author: { kind: 'askwatch' as const }, atMs: no },
      body: { kind: 'text' as const, text: `${no}` },
    },
    replies: [],
  }));
  const { url } = await startSeeing({ stored });
  const tab = await openTab(url);
  const { body } = await attach(tab, 'screen.png', PICTURE);
  await sayWith(tab, 'in an old thread?', [body.id], { thread: 'm0' });
  const status = async () =>
    (await fetch(`${url}/console/files/${body.id}`, { headers: { cookie: tab.cookie } })).status;
  expect(await status()).toBe(200);
  await tab.say('one more');
  await eventually(async () => (await status()) === 404);
});

test('a sent file is removed after 30 days, an unsent one after an hour', async () => {
  const { files, index, pieces, close } = await openFiles();
  const { id: sent } = await files.add({ ...OF, bytes: Buffer.from('sent') });
  await files.send([sent], { channel: 'general', person: 'p1', message: 'q1' });
  const { id: unsent } = await files.add({ ...OF, bytes: Buffer.from('unsent') });
  const ids = async () => (await index.get('files'))?.files.map((one) => one.id);
  const [nowMs, hourMs] = [Date.now(), 3_600_000];
  await files.removeOld(nowMs + 0.9 * hourMs);
  expect(await ids()).toEqual([sent, unsent]);
  await files.removeOld(nowMs + 1.1 * hourMs);
  expect(await ids()).toEqual([sent]);
  expect(await pieces.get(`${unsent} 0`)).toBeUndefined();
  await files.removeOld(nowMs + 31 * 24 * hourMs);
  expect(await ids()).toEqual([]);
  expect(await pieces.list()).toEqual([]);
  await close();
});

test('old files are removed when the console starts', async () => {
  const folder = await temporaryFolder();
  const first = await startTestConsole({ folder });
  const { body } = await attach(await openTab(first.url), 'a.txt', Buffer.from('text'));
  await first.stop();
  const { log } = recordingLog();
  const store = await openTestStore({ folder, log });
  const index = store.collection(filesCollection);
  await index.update('files', (all) => ({
    files: (all?.files ?? []).map((one) => ({ ...one, atMs: one.atMs - 2 * 3_600_000 })),
  }));
  await store.close();
  const second = await startTestConsole({ folder });
  expect((await fetch(`${second.url}/console/files/${body.id}`)).status).toBe(404);
});
