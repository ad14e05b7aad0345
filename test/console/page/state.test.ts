import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textCard } from '../../../src/bot/shared/card.ts';
import {
  apply,
  dismissed,
  emptyState,
  isOwn,
  opened,
  type State,
  withOlder,
} from '../../../src/console/page/playground/state.ts';
import type {
  ConsoleEvent,
  ListedMessage,
  Message,
  Snapshot,
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
const snapshot = (...messages: ListedMessage[]): Snapshot => ({
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
const loading: State = {
  ...emptyState,
  thread: { root: 'q', status: 'loading', replies: [], pending: [] },
};
const shownText = (state: State) => {
  const body = state.thread?.replies[0]?.body;
  return body?.kind === 'answer' ? body.text : undefined;
};

describe('the state of the page', () => {
  test('comes to the same text however often and from wherever the pieces are repeated', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 })), fc.array(fc.nat()), (pieces, repeats) => {
        const whole = pieces.join('');
        const events = pieces.map((piece, index) =>
          text(pieces.slice(0, index).join('').length, piece),
        );
        let state = opened(loading, 'q', [answer('')]);
        for (const [index, event] of events.entries()) {
          state = apply(state, event);
          const again = events[(repeats[index] ?? 0) % (index + 1)];
          if (again) state = apply(state, again);
        }
        expect(shownText(state)).toBe(whole);
        expect(state.thread?.status).toBe('open');
      }),
    );
  });

  test('keeps events that come while a thread is fetched, in whatever order both arrive', () => {
    const whole = 'one two three';
    for (let fetchedAt = 0; fetchedAt <= whole.length; fetchedAt++) {
      let state = loading;
      for (let at = 0; at < whole.length; at++) {
        if (at === fetchedAt) state = opened(state, 'q', [answer(whole.slice(0, at))]);
        state = apply(state, text(at, whole.charAt(at)));
      }
      if (fetchedAt === whole.length) state = opened(state, 'q', [answer(whole)]);
      expect(shownText(state)).toBe(whole);
    }
  });

  test('asks for the thread again when a piece is missing', () => {
    const state = apply(opened(loading, 'q', [answer('one')]), text(8, 'three'));
    expect(state.thread?.status).toBe('stale');
    expect(shownText(state)).toBe('one');
  });

  test('does not grow an answer that is whole', () => {
    const state = apply(opened(loading, 'q', [answer('whole', false)]), text(5, ' more'));
    expect(shownText(state)).toBe('whole');
  });

  test('announces a message once, and again when it has changed', () => {
    const first = apply(emptyState, { kind: 'message', listed: card('x', 'Shop is down') });
    expect([first.arrivals, first.announcement]).toEqual([1, 'Shop is down']);
    const counted = card('x', 'Shop is down');
    counted.thread.replies = 1;
    expect(apply(first, { kind: 'message', listed: counted }).arrivals).toBe(1);
    const changed = card('x', 'Shop recovered', { changedAtMs: 5 });
    const second = apply(first, { kind: 'message', listed: changed });
    expect([second.arrivals, second.announcement]).toEqual([2, 'Shop recovered']);
    expect(second.messages).toHaveLength(1);
  });

  test('announces a card of a thread that has changed, with its words where its title stays', () => {
    const announcementOf = (body: Message['body'], changedAtMs?: number) => {
      const reply = { ...card('x', '').message, ...(changedAtMs && { changedAtMs }), body };
      return apply(loading, { kind: 'reply', root: 'q', reply }).announcement;
    };
    const asked = textCard('info', 'Watch it?', 'Every minute.');
    expect(announcementOf({ kind: 'card', card: asked })).toBe('Watch it?');
    const decided = textCard('info', 'Watch it?', 'Cancelled.');
    expect(announcementOf({ kind: 'card', card: decided }, 5)).toBe('Watch it? Cancelled.');
  });

  test('keeps private messages over a new beginning, until they are dismissed', () => {
    const own = card('p', 'Only you', { private: true, atMs: 3 });
    let state = apply(apply(emptyState, snapshot(card('x', 'one'))), {
      kind: 'message',
      listed: own,
    });
    state = apply(state, snapshot(card('x', 'one'), card('y', 'two', { atMs: 4 })));
    expect(state.messages.map(({ message }) => message.id)).toEqual(['x', 'p', 'y']);
    state = dismissed(state, 'p');
    expect(state.messages.map(({ message }) => message.id)).toEqual(['x', 'y']);
  });

  test('shows private replies again when their thread is opened again', () => {
    const reply: Message = { ...answer('secret', false), id: 'p', private: true, atMs: 9 };
    let state = apply(opened(loading, 'q', []), { kind: 'reply', root: 'q', reply });
    state = opened({ ...state, thread: loading.thread }, 'q', [answer('first', false)]);
    expect(state.thread?.replies.map(({ id }) => id)).toEqual(['a', 'p']);
  });

  test('counts as the reader’s own their messages and their private replies, not an alert', () => {
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

  test('keeps of what was private neither what grew when the server went, nor what is somebody else’s', () => {
    const growing: ListedMessage = {
      ...card('g', ''),
      message: { ...answer('half'), id: 'g', private: true },
    };
    const own = card('p', 'Only you', { private: true });
    let state = [growing, own].reduce(
      (now, listed) => apply(now, { kind: 'message', listed }),
      apply(emptyState, snapshot()),
    );
    expect(state.messages).toHaveLength(2);
    state = apply(state, snapshot());
    expect(state.messages.map(({ message }) => message.id)).toEqual(['p']);
    expect(apply(state, { ...snapshot(), person: BOB }).messages).toEqual([]);
  });

  test('calls people what they are called now, and has each channel once', () => {
    let state = apply(emptyState, snapshot());
    for (const name of ['Anna', 'Anna'])
      state = apply(state, { kind: 'person', person: { ...YOU, name } });
    expect([state.person.name, state.names.get(YOU.id)]).toEqual(['Anna', 'Anna']);
    for (const channel of ['ops', 'ops']) state = apply(state, { kind: 'channel', channel });
    expect(state.channels).toEqual(['general', 'ops']);
  });

  test('puts older messages before the others, and knows when there are no more', () => {
    const start = { ...snapshot(card('c', 'new', { atMs: 3 })), older: ['general', 'ops'] };
    let state = apply(emptyState, start);
    state = withOlder(state, 'general', { messages: [card('b', 'old', { atMs: 2 })], more: true });
    expect(state.older).toEqual(['general', 'ops']);
    const last = { messages: [card('a', 'oldest'), card('b', 'old', { atMs: 2 })], more: false };
    state = withOlder(state, 'general', last);
    expect(state.messages.map(({ message }) => message.id)).toEqual(['a', 'b', 'c']);
    expect(state.older).toEqual(['ops']);
  });

  test('forgets what has gone and begins anew from a snapshot', () => {
    const state = apply(apply(emptyState, snapshot(card('x', 'one'))), {
      kind: 'removed',
      message: 'x',
    });
    expect(state.messages).toEqual([]);
    expect(apply(opened(loading, 'q', []), snapshot()).thread?.status).toBe('stale');
  });
});
