import { randomUUID } from 'node:crypto';
import { everyMs, followAnswer } from '../../../src/bot/ask/live-answer.ts';
import type { Bot, Platform } from '../../../src/bot/platform.ts';
import type { CardAction } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import type { Invocation, Reply } from '../../../src/bot/shared/invocation.ts';

/** What everybody sees, whichever process shows it. */
export interface Wall {
  messages: WallMessage[];
}

export interface WallMessage {
  id: string;
  thread: string;
  text: string;
  /** The note that it ended with, empty without one; absent while it grows. */
  end?: string;
  actions: CardAction[];
  /** How often an end was shown. */
  ends: number;
}

/** A platform that shows answers on a wall, in one of several processes. */
export interface WallPlatform extends Platform {
  /** Somebody says something in a thread; resolves when what comes of it is shown. */
  hear(invocation: Invocation): Promise<Reply['kind']>;
  /** What it has shown of cards: their titles and texts. */
  readonly cards: string[];
}

/**
 * With `isHasty` it says that what it took over is done as soon as the beginning is shown; so many answers as `failing` says it
 * cannot show at all.
 */
export function createWallPlatform(
  wall: Wall,
  { isHasty = false, failing = { left: 0 } } = {},
): WallPlatform {
  let bot: Bot | undefined;
  const cards: string[] = [];
  const find = (id: string | undefined) => wall.messages.find((message) => message.id === id);

  async function show(reply: Reply, { id, thread = id }: Invocation): Promise<Reply['kind']> {
    if (reply.kind === 'card') {
      const texts = reply.card.parts.map((part) => ('text' in part ? part.text : ''));
      cards.push([reply.card.title, ...texts].join(' '));
    }
    if (reply.kind !== 'answer') return reply.kind;
    const key = reply.private ? undefined : thread;
    if (failing.left > 0) {
      failing.left -= 1;
      await reply.putOff();
      throw new DeliveryError('The wall cannot be written on.', { permanent: false });
    }
    await reply.begin(key === undefined ? {} : { thread: key });
    const message = find(reply.shownBefore?.shown.message) ?? {
      ...{ id: randomUUID(), thread, text: '', actions: [], ends: 0 },
    };
    if (!wall.messages.includes(message)) wall.messages.push(message);
    await reply.begin({
      ...(key !== undefined && { thread: key }),
      shown: { message: message.id },
    });
    let isLost = true;
    await followAnswer(reply.stream(key), {
      turn: everyMs(() => 20),
      actions: reply.actions,
      gone: new AbortController().signal,
      isOurs: reply.isOurs,
      async show({ text, end, actions = [] }) {
        Object.assign(message, { text, actions });
        if (!end) return;
        isLost = false;
        message.end = end.note ?? '';
        message.ends += 1;
      },
    });
    if (!isLost) await reply.ended();
    return 'answer';
  }

  return {
    name: 'wall',
    cards,
    async start(given) {
      bot = given;
    },
    async stop() {},
    async hear(invocation) {
      if (!bot) throw new Error('It is not started.');
      return await show(await bot.dispatch(invocation), invocation);
    },
    async takeOver({ invocation, dispatch }) {
      const shown = show(await dispatch(invocation), invocation);
      if (!isHasty) await shown;
    },
    async endAnswer({ shown, note, thread = '', actionsIn }) {
      const message = find(shown.message);
      if (!message || message.end !== undefined) return;
      message.actions = await actionsIn(thread);
      message.end = note;
      message.ends += 1;
    },
    async post() {
      throw new Error('nobody posts here');
    },
    async update() {},
    async announce() {},
  };
}
