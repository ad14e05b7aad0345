import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Card } from '../../src/bot/shared/card.ts';
import type { ConsoleEvent, Message } from '../../src/console/shared/api-types.ts';
import { openKeys } from '../../src/http/keys.ts';
import { writeAccount } from '../helpers/console/test-account.ts';
import {
  listedAt,
  logIn,
  openTab,
  repliesOf,
  snapshotOf,
  startTestConsole,
  type Tab,
  type TestConsole,
  tryPassword,
} from '../helpers/console/test-console.ts';
import { eventually } from '../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';

const card = (title: string): Card => ({ tone: 'info', title, parts: [] });

const postTo = ({ console }: TestConsole, title: string) =>
  console.post({ channel: 'general', card: card(title), id: title, attempted: false });

/** So that a process is thought dead within a test's time. */
const SHORT = { times: { ttlMs: 4_000, beatMs: 300 } };

/** Two consoles on one database, as in two processes; the first has the bot. */
async function twoConsoles(options: Parameters<typeof startTestConsole>[0] = {}) {
  const { open, query } = await testDatabase();
  const stores = [await open(SHORT), await open(SHORT)] as const;
  const a = await startTestConsole({ ...options, store: stores[0] });
  const b = await startTestConsole({ ...options, store: stores[1], hasBot: false });
  return { a, b, stores, open, query };
}

const titlesHeard = (tab: Tab): string[] =>
  tab.heard.flatMap((event) =>
    event.kind === 'message' && event.listed.message.body.kind === 'card'
      ? [event.listed.message.body.card.title]
      : [],
  );

const titleOf = ({ body }: Message) => (body.kind === 'card' ? body.card.title : '');

const answerIn = (event: ConsoleEvent) => {
  const message =
    event.kind === 'reply'
      ? event.reply
      : event.kind === 'message'
        ? event.listed.message
        : undefined;
  return message?.body.kind === 'answer' ? message : undefined;
};

/** The text that a tab has heard, piece by piece. */
const textHeard = (tab: Tab) =>
  tab.heard.flatMap((event) => (event.kind === 'text' ? [event.text] : [])).join('');

/** All of what a tab was told, without what depends on when it came. */
const kindsOf = (tab: Tab) => tab.heard.map(({ kind }) => kind);

describe.skipIf(!hasPostgres)('events of two consoles', () => {
  test('reach the browsers of both, in the same order', async () => {
    const { a, b } = await twoConsoles();
    const [here, there] = [await openTab(a.url), await openTab(b.url)];
    await snapshotOf(there);
    for (let count = 0; count < 10; count += 1) await postTo(a, `post ${count}`);
    await b.console.post({ channel: 'general', card: card('of b'), id: 'b', attempted: false });
    for (const tab of [here, there]) await eventually(() => titlesHeard(tab).length === 11);
    expect(titlesHeard(there)).toEqual(titlesHeard(here));
    expect(there.lastEventId).toBe(here.lastEventId);
    const [atA, atB] = [await listedAt(a.url), await listedAt(b.url)];
    expect(atB).toEqual(atA);
  });

  test('are told to a browser that comes back to the other one: what it missed, nothing twice', async () => {
    const { a, b } = await twoConsoles();
    const tab = await openTab(a.url);
    await postTo(a, 'one');
    await eventually(() => titlesHeard(tab).length === 1);
    tab.close();
    await postTo(a, 'two');
    await postTo(a, 'three');
    const again = await openTab(b.url, { cookie: tab.cookie, lastEventId: tab.lastEventId });
    await postTo(a, 'four');
    await eventually(() => titlesHeard(again).includes('four'));
    expect(kindsOf(again)).not.toContain('snapshot');
    expect(titlesHeard(again)).toEqual(['two', 'three', 'four']);
    again.close();
    await postTo(a, 'five');
    const third = await openTab(a.url, { cookie: tab.cookie, lastEventId: again.lastEventId });
    await eventually(() => titlesHeard(third).includes('five'));
    expect(titlesHeard(third)).toEqual(['five']);
  });

  test('are told to a browser that comes back to one that was started since', async () => {
    const { a, open } = await twoConsoles();
    const tab = await openTab(a.url);
    await postTo(a, 'one');
    await eventually(() => titlesHeard(tab).length === 1);
    tab.close();
    await postTo(a, 'two');
    const late = await startTestConsole({ store: await open(SHORT), hasBot: false });
    const again = await openTab(late.url, { lastEventId: tab.lastEventId });
    await eventually(() => titlesHeard(again).length > 0);
    expect(again.heard.map(({ kind }) => kind)).toEqual(['message']);
    expect(titlesHeard(again)).toEqual(['two']);
  });

  test('that are private reach their reader at either one, and nobody else at any time', async () => {
    const { a, b } = await twoConsoles();
    a.provider.answerWith('Just between us.');
    const ann = await openTab(a.url);
    const annThere = await openTab(b.url, { cookie: ann.cookie });
    const bob = await openTab(b.url);
    const gone = await openTab(a.url);
    await eventually(() => gone.lastEventId && bob.lastEventId && annThere.lastEventId);
    gone.close();
    await ann.say('/ask private=true why?');
    const whole = (tab: Tab) =>
      tab.heard.map(answerIn).find((one) => one?.body.kind === 'answer' && !one.body.growing);
    for (const tab of [ann, annThere]) await eventually(() => whole(tab));
    expect(textHeard(annThere)).toBe('Just between us.');
    await postTo(a, 'for everyone');
    await eventually(() => titlesHeard(bob).includes('for everyone'));
    const back = await openTab(b.url, { cookie: gone.cookie, lastEventId: gone.lastEventId });
    await eventually(() => titlesHeard(back).includes('for everyone'));
    const [own] = (await listedAt(b.url, ann.cookie)).filter((message) => message.private);
    expect(own).toEqual(whole(ann));
    for (const tab of [bob, back]) {
      expect(JSON.stringify(tab.heard)).not.toContain('between us');
      expect(JSON.stringify(await listedAt(b.url, tab.cookie))).not.toContain('between us');
      expect(JSON.stringify(await listedAt(a.url, tab.cookie))).not.toContain('between us');
    }
    // Dismissed at one, it is gone at the other.
    await annThere.tell('dismissals', { message: own?.id });
    await eventually(() => ann.heard.some(({ kind }) => kind === 'removed'));
    expect((await listedAt(a.url, ann.cookie)).some((message) => message.private)).toBe(false);
  });

  test('of a growing answer go on for who opens the page at the other one in the middle of it', async () => {
    const { a, b } = await twoConsoles();
    a.provider.answerWith(['one ', 'two ', 'three.']);
    const goOn = a.provider.holdChunks(2);
    const ann = await openTab(a.url);
    const said = await ann.say('/ask count');
    if (said.shown !== 'thread') throw new Error('no thread');
    await eventually(() => textHeard(ann) === 'one two ');
    const textAt = async (url: string) => {
      const [reply] = await repliesOf(url, said.message);
      return reply?.body.kind === 'answer' ? reply.body.text : undefined;
    };
    await eventually(async () => (await textAt(b.url)) === 'one two ');
    const there = await openTab(b.url);
    await snapshotOf(there);
    goOn();
    await eventually(() => there.heard.some((event) => answerIn(event)?.body));
    expect(textHeard(there)).toBe('three.');
    expect(await textAt(b.url)).toBe('one two three.');
  });

  test('tell of channels, people and names made at either one', async () => {
    const { a, b } = await twoConsoles();
    const [ann, bob] = [await openTab(a.url), await openTab(b.url)];
    expect((await bob.tell('channels', { name: 'ops' })).status).toBe(200);
    // Before word of it has come.
    await ann.say('/monitor list', { channel: 'ops' });
    expect((await ann.tell('name', { name: 'Ann' })).status).toBe(200);
    expect((await bob.tell('name', { name: 'Bob' })).status).toBe(200);
    for (const tab of [ann, bob]) {
      for (const name of ['Ann', 'Bob'])
        await eventually(() =>
          tab.heard.some((event) => event.kind === 'person' && event.person.name === name),
        );
    }
    const atA = await snapshotOf(await openTab(a.url, { cookie: ann.cookie }));
    const atB = await snapshotOf(await openTab(b.url, { cookie: ann.cookie }));
    expect(atB.person).toEqual(atA.person);
    expect(atB.channels).toEqual(['general', 'ops']);
    expect(atB.channels).toEqual(atA.channels);
    expect(atB.people.map(({ name }) => name).sort()).toEqual(['Ann', 'Bob']);
    expect((await bob.tell('name', { name: 'ann' })).status).toBe(422);
  });

  test('that one has missed make it read all anew, and its browsers begin anew', async () => {
    const { a, b, query } = await twoConsoles();
    const there = await openTab(b.url);
    await snapshotOf(there);
    await postTo(a, 'one');
    await eventually(() => titlesHeard(there).length === 1);
    await query('update #.document set changed_at = clock_timestamp()');
    await query(`update #.event_head set number = number + 5 where log = 'console-events'`);
    await eventually(() => kindsOf(there).filter((kind) => kind === 'snapshot').length === 2);
    await postTo(a, 'two');
    await eventually(() => titlesHeard(there).includes('two'));
    expect((await listedAt(b.url)).map(titleOf)).toEqual(['one', 'two']);
  });
});

describe.skipIf(!hasPostgres)('a console whose bot is in another process', () => {
  test('hands on what people ask, press and fill in, and shows what comes of it', async () => {
    const { a, b } = await twoConsoles();
    a.provider.answerWith('Because.');
    const bob = await openTab(b.url);
    expect((await snapshotOf(bob)).commands.length).toBeGreaterThan(5);
    const said = await bob.say('/ask why?');
    if (said.shown !== 'thread') throw new Error('no thread');
    await eventually(() => textHeard(bob) === 'Because.');
    const form = await bob.say('/monitor add');
    expect(form.shown).toBe('form');
    const sent = await bob.tell('forms', {
      ...{ id: randomUUID(), channel: 'general', command: 'monitor add' },
      values: { target: '' },
    });
    expect(await sent.json()).toMatchObject({ shown: 'problems' });
    await expect(bob.say('hello', { thread: 'qnone' })).rejects.toThrow(/404.*deleted/s);
    expect(a.provider.calls).toHaveLength(1);
  });

  test('takes an interaction that is repeated at another one once', async () => {
    const { a, b } = await twoConsoles();
    const bob = await openTab(b.url);
    const id = randomUUID();
    const there = await bob.say('/ask once', { id });
    const here = await (await openTab(a.url, { cookie: bob.cookie })).say('/ask once', { id });
    expect(here).toEqual(there);
    expect(await bob.say('/ask once', { id })).toEqual(there);
    await eventually(() => a.provider.calls.length > 0);
    expect(a.provider.calls).toHaveLength(1);
  });

  test('does what was asked while nobody had a bot, once it has one', async () => {
    const { open } = await testDatabase();
    const b = await startTestConsole({ store: await open(SHORT), hasBot: false });
    const bob = await openTab(b.url);
    const asking = bob.say('/ask anybody?');
    await eventually(() => bob.heard.some(({ kind }) => kind === 'person'));
    const { provider } = await b.takeOver();
    expect((await asking).shown).toBe('thread');
    await eventually(() => provider.calls.length === 1);
  });
});

describe.skipIf(!hasPostgres)('the account area of two consoles', () => {
  test('makes one key of a request that comes to both', async () => {
    const { open } = await testDatabase();
    const both = await Promise.all(
      [open(SHORT), open(SHORT)].map(async (opening) => {
        const store = await opening;
        const account = { keys: { gateway: await openKeys(store, 'gateway') } };
        return await startTestConsole({ store, account, hasBot: false });
      }),
    );
    for (let turn = 1; turn <= 5; turn += 1) {
      const wanted = { id: randomUUID(), service: 'gateway', name: 'laptop' };
      const answers = await Promise.all(both.map(({ url }) => writeAccount(url, 'keys', wanted)));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    }
    const stored = (await open()).collection(anyKey);
    expect(await stored.list()).toHaveLength(5);
  });
});

const anyKey = {
  name: 'gateway-keys',
  schema: z.unknown(),
  version: 1,
  whenCorrupt: 'refuse' as const,
};

const PASSWORD = 'correct horse battery';
const login = { password: PASSWORD };

/** What a page of the console is answered: 200 for who is logged in, else 401. */
const statusAt = async (url: string, cookie: string) =>
  (await fetch(`${url}/console/account/keys`, { headers: { cookie } })).status;

const logOut = (url: string, cookie: string) =>
  fetch(`${url}/console/logout`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, cookie },
    body: '{}',
  });

describe.skipIf(!hasPostgres)('the login of two consoles', () => {
  test('at one opens both at once, and a logout closes both and cuts off streams', async () => {
    const { a, b } = await twoConsoles({ login });
    for (let turn = 0; turn < 5; turn += 1) {
      const cookie = await logIn(a.url, PASSWORD);
      expect(await statusAt(b.url, cookie)).toBe(200);
      const there = await openTab(b.url, { cookie });
      expect((await logOut(a.url, cookie)).status).toBe(200);
      expect(await statusAt(a.url, cookie)).toBe(401);
      await eventually(async () => (await statusAt(b.url, cookie)) === 401);
      await eventually(() => there.ended);
    }
  });

  test('counts wrong passwords over both, also those that are given at the same moment', async () => {
    const { a, b } = await twoConsoles({ login });
    const given = await Promise.all(
      Array.from({ length: 12 }, (_, index) => tryPassword([a, b][index % 2]?.url ?? '', 'wrong')),
    );
    expect(given.filter(({ status }) => status === 401)).toHaveLength(5);
    const refused = given.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(7);
    for (const answer of refused)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    for (const { url } of [a, b]) expect((await tryPassword(url, PASSWORD)).status).toBe(429);
    expect(await a.tries.list()).toHaveLength(1);
    expect((await a.tries.list())[0]?.document.atMs).toHaveLength(5);
  });

  test('counts wrong passwords from all addresses over both', async () => {
    const trustedProxies = ['127.0.0.1/32'];
    const { a, b } = await twoConsoles({ login, trustedProxies });
    const given = await Promise.all(
      Array.from({ length: 80 }, (_, index) =>
        tryPassword([a, b][index % 2]?.url ?? '', 'wrong', {
          'x-forwarded-for': `192.0.2.${index}`,
        }),
      ),
    );
    const taken = given.filter(({ status }) => status === 401).length;
    // At the same moment two may refuse each other; never is there one too many.
    expect(taken).toBeLessThanOrEqual(60);
    expect(taken).toBeGreaterThan(30);
    expect((await a.tries.list()).length).toBe(taken);
  });

  test('right passwords count for no limit at either', async () => {
    const { a, b } = await twoConsoles({ login });
    for (let turn = 0; turn < 8; turn += 1) {
      expect((await tryPassword([a, b][turn % 2]?.url ?? '', PASSWORD)).status).toBe(200);
    }
    expect(await a.tries.list()).toEqual([]);
  });

  test('goes by the first password while a process lives that was started with it; then by another one, which ends all sessions once', async () => {
    const { open, query } = await testDatabase();
    const stores = await Promise.all([open(SHORT), open(SHORT), open(SHORT), open(SHORT)]);
    const without = { hasBot: false };
    const first = await startTestConsole({ ...without, store: stores[0], login });
    const cookie = await logIn(first.url, PASSWORD);
    const other = { login: { password: 'another horse battery' } };
    const second = await startTestConsole({ ...without, ...other, store: stores[1] });
    const third = await startTestConsole({ ...without, ...other, store: stores[2] });
    expect(await statusAt(second.url, cookie)).toBe(200);
    expect(await statusAt(first.url, cookie)).toBe(200);
    expect((await tryPassword(third.url, other.login.password)).status).toBe(401);
    expect((await tryPassword(third.url, PASSWORD)).status).toBe(200);
    expect(second.lines.some(({ msg }) => /different CONSOLE_PASSWORD/.test(String(msg)))).toBe(
      true,
    );
    // One more that was started with the first password holds it when the first one leaves.
    const last = await startTestConsole({ ...without, store: stores[3], login });
    const holder = async () =>
      (await query(`select holder, fence from #.lease where kind = 'console-password'`))[0];
    const before = await holder();
    await first.stop();
    await stores[0].close();
    await eventually(async () => {
      const now = await holder();
      return now?.holder !== null && now?.holder !== before?.holder;
    });
    expect((await tryPassword(third.url, PASSWORD)).status).toBe(200);
    const there = await openTab(third.url, { cookie });
    await last.stop();
    await stores[3].close();
    await eventually(() => there.ended);
    const isTaken = async () =>
      (await tryPassword(second.url, other.login.password)).status === 200;
    await eventually(isTaken);
    for (const { url } of [second, third])
      await eventually(async () => (await statusAt(url, cookie)) === 401);
    // The other one hears of it a moment later, and few wrong passwords are taken.
    const again = await eventually(() => logIn(third.url, other.login.password), {
      everyMs: 400,
    });
    expect(await statusAt(second.url, again)).toBe(200);
    expect((await tryPassword(second.url, PASSWORD)).status).toBe(401);
    // The same in a process that is started with the old password once more: it changes nothing.
    const stray = await startTestConsole({ ...without, store: await open(SHORT), login });
    expect(await statusAt(stray.url, again)).toBe(200);
    expect(await statusAt(second.url, again)).toBe(200);
  });

  test('lets nobody in while it is not known which sessions have ended', async () => {
    const { open, query } = await testDatabase();
    const console = await startTestConsole({ store: await open(SHORT), hasBot: false, login });
    const cookie = await logIn(console.url, PASSWORD);
    await query('alter table #.document rename to hidden');
    await eventually(async () => (await statusAt(console.url, cookie)) === 503, {
      withinMs: 30_000,
    });
    await query('alter table #.hidden rename to document');
    await eventually(async () => (await statusAt(console.url, cookie)) === 200);
  });
});
