import type { Platform } from '../../../src/bot/platform.ts';
import type { Card } from '../../../src/bot/shared/card.ts';

/** A message as people see it now, with what it said before. */
export interface ShownMessage {
  id: string;
  channel: string;
  card: Card;
  titles: string[];
  /** The message in whose thread it is. */
  under?: string;
  /** The lines under it, by their ids. */
  lines: Map<string, string>;
}

/** One call of the bot. */
export interface PlatformCall {
  kind: 'post' | 'update' | 'announce';
  channel: string;
  card: Card;
  id: string;
  attempted: boolean;
  /** The line's mention. */
  mention?: string;
}

/** A platform that keeps its messages in memory and refuses what a test says. Posting the same id twice is one message. */
export interface ScriptedPlatform extends Platform {
  readonly messages: ShownMessage[];
  readonly tries: number;
  /** Returns the error to throw for a call, or `undefined` to accept it. */
  failWith(failure: ((call: PlatformCall) => Error | undefined) | undefined): void;
  /** Like `failWith`, but the message is taken before the answer is lost. */
  loseAnswers(failure: ((call: PlatformCall) => Error | undefined) | undefined): void;
}

/** Starts with no messages and takes everything. */
export function createScriptedPlatform(name: string): ScriptedPlatform {
  const messages: ShownMessage[] = [];
  let tries = 0;
  let failure: ((call: PlatformCall) => Error | undefined) | undefined;
  let loss: ((call: PlatformCall) => Error | undefined) | undefined;

  function refuse(call: PlatformCall) {
    tries += 1;
    const error = failure?.(call);
    if (error) throw error;
  }

  function lose(call: PlatformCall) {
    const error = loss?.(call);
    if (error) throw error;
  }

  return {
    name,
    messages,
    get tries() {
      return tries;
    },
    failWith(next) {
      failure = next;
    },
    loseAnswers(next) {
      loss = next;
    },
    async start() {},
    async stop() {},
    async post({ channel, card, id, attempted, under }) {
      const call: PlatformCall = { kind: 'post', channel, card, id, attempted };
      refuse(call);
      const known = messages.find((message) => message.id === id);
      if (known && !attempted) throw new Error(`The bot posts ${id} twice and does not say so.`);
      const shown = { id, channel, card, titles: [card.title], under: under?.message };
      if (!known) messages.push({ ...shown, lines: new Map() });
      lose(call);
      return {
        message: id,
        thread: under?.thread ?? id,
        goesOn: (known?.card ?? card).goesOn ?? false,
      };
    },
    async update(channel, { message: id }, card) {
      const call: PlatformCall = { kind: 'update', channel, card, id, attempted: true };
      refuse(call);
      const message = messages.find((one) => one.id === id);
      if (!message) throw new Error(`The bot changes ${id}, which was never posted.`);
      message.card = card;
      message.titles.push(card.title);
      lose(call);
    },
    async announce({ channel, posted: { message: under }, card, mention, id, attempted }) {
      const call: PlatformCall = { kind: 'announce', channel, card, id, attempted, mention };
      refuse(call);
      const message = messages.find((one) => one.id === under);
      if (!message) throw new Error(`The bot says ${id} under ${under}, which was never posted.`);
      if (message.lines.has(id) && !attempted) throw new Error(`The bot says ${id} twice.`);
      if (!message.lines.has(id)) message.lines.set(id, card.title);
      lose(call);
    },
  };
}
