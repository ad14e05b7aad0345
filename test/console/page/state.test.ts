import { expect, test } from 'vitest';
import { textCard } from '../../../src/bot/shared/card.ts';
import {
  applyEvent,
  type ChatState,
  emptyState,
  isOwn,
  withOlder,
  withOpenedThread,
  withoutMessage,
} from '../../../src/console/page/playground/state.ts';
import type {
  ConsoleEvent,
  ConsoleSnapshot,
  ListedMessage,
  Message,
} from '../../../src/console/shared/api-types.ts';

const YOU = { id: 'u1', name: 'Ann' };
const BOB = { id: 'u2', name: 'Bob' };

const answer = (text: string, growing = true): Message => ({
  id: 'a',
  author: { kind: 'askwatch' },
  atMs: 2,
  body: { kind: 'answer', text, growing },
});
const card = (id: string, title: string, more: Partial<Message> = {}): ListedMessage => ({
  channel: 'general',
  message: {
    id,
    author: { kind: 'askwatch' },
    atMs: 1,
    body: { kind: 'card', card: { tone: 'info', title, parts: [] } },
    ...more,
  },
  thread: { replies: 0, growing: false },
});
const snapshot = (...messages: ListedMessage[]): ConsoleSnapshot => ({
  kind: 'snapshot',
  person: YOU,
  people: [YOU],
  channels: ['general'],
  commands: [],
  messages,
  older: [],
});
const text = (offset: number, piece: string): ConsoleEvent => ({
  kind: 'text',
  root: 'q',
  reply: 'a',
  offset,
  text: piece,
});
const loading: ChatState = {
  ...emptyState,
  thread: { root: 'q', status: 'loading', replies: [], pending: [] },
};
const shownText = (state: ChatState) => {
  const body = state.thread?.replies[0]?.body;
  return body?.kind === 'answer' ? body.text : undefined;
};

test('events that arrive while a thread is fetched are kept, in any order', () => {
  const whole = 'one two three';
  for (let fetchedAt = 0; fetchedAt <= whole.length; fetchedAt++) {
    let state = loading;
    for (let at = 0; at < whole.length; at++) {
      if (at === fetchedAt) state = withOpenedThread(state, 'q', [answer(whole.slice(0, at))]);
      state = applyEvent(state, text(at, whole.charAt(at)));
    }
    if (fetchedAt === whole.length) state = withOpenedThread(state, 'q', [answer(whole)]);
    expect(shownText(state)).toBe(whole);
  }
});

test('a missing piece of text makes the thread stale', () => {
  const state = applyEvent(withOpenedThread(loading, 'q', [answer('one')]), text(8, 'three'));
  expect(state.thread?.status).toBe('stale');
  expect(shownText(state)).toBe('one');
});

test('a whole answer does not grow', () => {
  const state = applyEvent(
    withOpenedThread(loading, 'q', [answer('whole', false)]),
    text(5, ' more'),
  );
  expect(shownText(state)).toBe('whole');
});

test('a message is announced once, and again when it has changed', () => {
  const first = applyEvent(emptyState, { kind: 'message', listed: card('x', 'Shop is down') });
  expect([first.arrivals, first.announcement]).toEqual([1, 'Shop is down']);
  const counted = card('x', 'Shop is down');
  counted.thread.replies = 1;
  expect(applyEvent(first, { kind: 'message', listed: counted }).arrivals).toBe(1);
  const changed = card('x', 'Shop recovered', { changedAtMs: 5 });
  const second = applyEvent(first, { kind: 'message', listed: changed });
  expect([second.arrivals, second.announcement]).toEqual([2, 'Shop recovered']);
  expect(second.messages).toHaveLength(1);
});

test('a changed card with the same title is announced with its text', () => {
  const announcementOf = (body: Message['body'], changedAtMs?: number) => {
    const reply = { ...card('x', '').message, ...(changedAtMs && { changedAtMs }), body };
    return applyEvent(loading, { kind: 'reply', root: 'q', reply }).announcement;
  };
  const asked = textCard('info', 'Watch it?', 'Every minute.');
  expect(announcementOf({ kind: 'card', card: asked })).toBe('Watch it?');
  const decided = textCard('info', 'Watch it?', 'Cancelled.');
  expect(announcementOf({ kind: 'card', card: decided }, 5)).toBe('Watch it? Cancelled.');
});

test('private messages survive a snapshot until they are dismissed', () => {
  const own = card('p', 'Only you', { private: true, atMs: 3 });
  let state = applyEvent(applyEvent(emptyState, snapshot(card('x', 'one'))), {
    kind: 'message',
    listed: own,
  });
  state = applyEvent(state, snapshot(card('x', 'one'), card('y', 'two', { atMs: 4 })));
  expect(state.messages.map(({ message }) => message.id)).toEqual(['x', 'p', 'y']);
  state = withoutMessage(state, 'p');
  expect(state.messages.map(({ message }) => message.id)).toEqual(['x', 'y']);
});

test('private replies are shown again when their thread is opened again', () => {
  const reply: Message = { ...answer('secret', false), id: 'p', private: true, atMs: 9 };
  let state = applyEvent(withOpenedThread(loading, 'q', []), { kind: 'reply', root: 'q', reply });
  state = withOpenedThread({ ...state, thread: loading.thread }, 'q', [answer('first', false)]);
  expect(state.thread?.replies.map(({ id }) => id)).toEqual(['a', 'p']);
});

test('messages of the reader and replies to them are their own, alerts are not', () => {
  const by = (person: typeof YOU) => ({
    ...answer('why?'),
    author: { kind: 'person', ...person } as const,
  });
  const list = (person: typeof YOU) =>
    card('x', 'No monitors', { command: '/monitor list', by: person }).message;
  expect([by(YOU), by(BOB)].map((one) => isOwn(one, YOU))).toEqual([true, false]);
  expect([list(YOU), list(BOB)].map((one) => isOwn(one, YOU))).toEqual([true, false]);
  expect(isOwn(card('x', 'Shop is UP', { private: true }).message, YOU)).toBe(true);
  expect(isOwn(card('x', 'Shop is down').message, YOU)).toBe(false);
});

test('a snapshot drops private messages that were growing or belong to another person', () => {
  const growing: ListedMessage = {
    ...card('g', ''),
    message: { ...answer('half'), id: 'g', private: true },
  };
  const own = card('p', 'Only you', { private: true });
  let state = [growing, own].reduce(
    (now, listed) => applyEvent(now, { kind: 'message', listed }),
    applyEvent(emptyState, snapshot()),
  );
  expect(state.messages).toHaveLength(2);
  state = applyEvent(state, snapshot());
  expect(state.messages.map(({ message }) => message.id)).toEqual(['p']);
  expect(applyEvent(state, { ...snapshot(), person: BOB }).messages).toEqual([]);
});

test('people have their newest names, and each channel is listed once', () => {
  let state = applyEvent(emptyState, snapshot());
  for (const name of ['Anna', 'Anna'])
    state = applyEvent(state, { kind: 'person', person: { ...YOU, name } });
  expect([state.person.name, state.names.get(YOU.id)]).toEqual(['Anna', 'Anna']);
  for (const channel of ['ops', 'ops']) state = applyEvent(state, { kind: 'channel', channel });
  expect(state.channels).toEqual(['general', 'ops']);
});

test('a deleted message disappears, and a snapshot makes the thread stale', () => {
  const state = applyEvent(applyEvent(emptyState, snapshot(card('x', 'one'))), {
    kind: 'removed',
    message: 'x',
  });
  expect(state.messages).toEqual([]);
  expect(applyEvent(withOpenedThread(loading, 'q', []), snapshot()).thread?.status).toBe('stale');
});

test('messages that arrived during a lost connection are announced', () => {
  const before = applyEvent(emptyState, snapshot(card('x', 'one')));
  const after = applyEvent(before, snapshot(card('x', 'one'), card('y', 'two')));
  expect([before.arrivals, after.arrivals, after.announcement]).toEqual([0, 1, 'two']);
});

test('a snapshot keeps loaded older messages unless it leaves a gap after them', () => {
  const newest = { ...snapshot(card('c', 'new', { atMs: 3 })), older: ['general'] };
  const loaded = withOlder(applyEvent(emptyState, newest), 'general', {
    messages: [card('b', 'old', { atMs: 2 })],
    more: false,
  });
  const again = applyEvent(loaded, newest);
  expect([again.messages.map(({ message }) => message.id), again.older]).toEqual([['b', 'c'], []]);
  const later = { ...snapshot(card('x', 'much later', { atMs: 9 })), older: ['general'] };
  const afterGap = applyEvent(loaded, later);
  expect(afterGap.messages.map(({ message }) => message.id)).toEqual(['x']);
  expect(afterGap.older).toEqual(['general']);
});
