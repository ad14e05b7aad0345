import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  apply,
  dismissed,
  emptyState,
  isOwn,
  opened,
  type State,
} from '../../src/console/page/state.ts';
import type { ConsoleEvent, ListedMessage, Message, Snapshot } from '../../src/console/wire.ts';

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
  person: { id: 'local', name: 'You' },
  channels: ['general'],
  commands: [],
  messages,
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
  thread: { root: 'q', status: 'loading', replies: [], heard: [] },
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

  test('keeps what it hears while a thread is fetched, in whatever order both arrive', () => {
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

  test('says a message once, and again when it has changed', () => {
    const first = apply(emptyState, { kind: 'message', listed: card('x', 'Shop is DOWN') });
    expect([first.arrivals, first.announcement]).toEqual([1, 'Shop is DOWN']);
    const counted = card('x', 'Shop is DOWN');
    counted.thread.replies = 1;
    expect(apply(first, { kind: 'message', listed: counted }).arrivals).toBe(1);
    const changed = card('x', 'Shop recovered', { changedAtMs: 5 });
    const second = apply(first, { kind: 'message', listed: changed });
    expect([second.arrivals, second.announcement]).toEqual([2, 'Shop recovered']);
    expect(second.messages).toHaveLength(1);
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

  test('takes for the reader’s own what they said and what only they were told, not an alert', () => {
    const person = { kind: 'person', id: 'local', name: 'You' } as const;
    expect(isOwn({ ...answer('why?'), author: person })).toBe(true);
    expect(isOwn(card('x', 'No monitors', { command: '/monitor list' }).message)).toBe(true);
    expect(isOwn(card('x', 'Shop is UP', { private: true }).message)).toBe(true);
    expect(isOwn(card('x', 'Shop is DOWN').message)).toBe(false);
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
