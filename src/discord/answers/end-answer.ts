import { createHash } from 'node:crypto';
import { type APIMessage, type Client, ComponentType, MessageFlags, Routes } from 'discord.js';
import type { Logger } from 'pino';
import { createEncryption, type Platform } from '../../bot/platform.ts';
import { answerOfButton } from '../../bot/shared/card.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import type { UnfinishedAnswer } from '../../bot/shared/invocation.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import { isDeleted, isRefusal } from '../api/errors.ts';
import { renderButtons } from '../render/render.ts';
import { plain } from '../render/text.ts';
import { withoutProgress } from './answer-pages.ts';
import { isNotBefore } from './answer-target.ts';
import type { Conversations } from './conversations.ts';

/** Longest message. Source: Discord docs, "Create Message". */
const MAX_MESSAGE = 2_000;

/**
 * How the messages of an answer are found again: where they are, the newest that is known, all of them, and for those that belong to an
 * interaction its token, encrypted, since whoever has it can write in the bot's name for a quarter of an hour.
 */
export interface ShownIn {
  in: string;
  message?: string;
  /** All of them, with spaces between. */
  pages?: string;
  token?: string;
}

/** The outcome of a search for the message under way; without `content` it could not be read. */
interface Found {
  isOver?: boolean;
  growing?: { id: string; content?: string } | undefined;
}

/** Keeps tokens of interactions from whoever has the files and not the bot's token. */
export const tokenEncryption = (botToken: string) =>
  createEncryption(botToken, 'askwatch discord interaction');

/**
 * Ends answers of an earlier process: the message that has the button which stops it shows what it showed, and a note.
 * Throws what the calls throw.
 */
export function createEndAnswer(options: {
  client: Client;
  api: ChannelApi;
  botToken: string;
  /** How long messages of an interaction are changed. */
  tokenLifeMs: number;
  conversations(): Conversations | undefined;
  log: Logger;
}): NonNullable<Platform['endAnswer']> {
  const { client, api, botToken, tokenLifeMs, conversations, log } = options;
  const tokens = tokenEncryption(botToken);

  /** The message under way, as far as it may be read. */
  async function find(unfinished: UnfinishedAnswer, at: ShownIn): Promise<Found> {
    try {
      return await read(unfinished, at);
    } catch (error) {
      if (!isRefusal(error) || isDeleted(error)) throw error;
      // Without Read Message History its buttons can still be taken away.
      return { growing: at.message === undefined ? undefined : { id: at.message } };
    }
  }

  async function read({ id, beganAtMs }: UnfinishedAnswer, at: ShownIn): Promise<Found> {
    const known = at.message === undefined ? undefined : await api.message(at.in, at.message);
    if (known && isAbout(known, id, { stops: true })) return { growing: known };
    // One may have been posted that was not noted.
    const newer = (await api.recent(at.in)).filter(
      (message) => isAbout(message, id) && isNotBefore(message, beganAtMs),
    );
    const growing = newer.find((message) => isAbout(message, id, { stops: true }));
    if (growing) return { growing };
    if (newer.length > 0 || (known && isAbout(known, id))) return { isOver: true };
    return { growing: known };
  }

  async function endIn(unfinished: UnfinishedAnswer, at: ShownIn, thread: string) {
    const { id, note } = unfinished;
    const { growing, isOver } = await find(unfinished, at);
    if (isOver) return;
    const components = renderButtons(await unfinished.actionsIn(thread));
    const post = (nonce: string) =>
      api.send(at.in, { content: `*${plain(note)}*`, components, nonce });

    async function endWithNote(begun: { id: string; content?: string }) {
      const shown = begun.content === undefined ? undefined : withoutProgress(begun.content);
      const content = shown === undefined ? undefined : withNote(shown, note);
      if (content === undefined) {
        const kept = shown === undefined ? {} : { content: shown };
        await api.edit(at.in, begun.id, { ...kept, components: [] });
        return await post(`end-${id}`);
      }
      const flags = MessageFlags.SuppressEmbeds;
      return await api.edit(at.in, begun.id, { content, components, flags });
    }

    let ended: APIMessage;
    if (growing) ended = await endWithNote(growing);
    else {
      // The first may be under way still, from the other process: Discord takes one of the two, and tells of the one that came.
      const posted = await post(pageNonce(id, 0));
      ended = isAbout(posted, id, { stops: true }) ? await endWithNote(posted) : posted;
    }
    if (at.in === thread) return;
    const place = { platform: 'discord', channel: unfinished.channel } as const;
    await conversations()?.addInline(at.in, ended.id, { place, thread });
  }

  /** What only one person sees, or stands where the bot may not write, is changed by the interaction that it belongs to. */
  async function endOfInteraction(unfinished: UnfinishedAnswer, at: ShownIn, encryptToken: string) {
    const { id, beganAtMs, note, thread } = unfinished;
    const { application, rest } = client;
    if (!application) throw new DeliveryError('Discord is not connected.', { permanent: false });
    const token = tokens.decrypt(encryptToken, id);
    if (token === undefined || Date.now() > beganAtMs + tokenLifeMs) {
      if (thread !== undefined) await endIn(unfinished, at, thread);
      else log.info({ channel: at.in }, 'giving up on an answer that a restart cut short');
      return;
    }
    const route = Routes.webhookMessage(application.id, token, at.message ?? '@original');
    const shown = (await rest.get(route, { auth: false })) as APIMessage;
    // "Thinking…" is a message without anything, and in its place comes the note.
    if (isAbout(shown, id) && !isAbout(shown, id, { stops: true })) return;
    const actions = thread === undefined ? [] : await unfinished.actionsIn(thread);
    const text = withoutProgress(shown.content);
    const content = withNote(text, note) ?? `${text.slice(0, MAX_MESSAGE / 2)}…\n*${note}*`;
    const body = {
      content,
      components: renderButtons(actions),
      flags: MessageFlags.SuppressEmbeds,
      allowed_mentions: { parse: [] },
    };
    await rest.patch(route, { auth: false, body });
  }

  return async (unfinished) => {
    const { thread } = unfinished;
    const at = shownIn(unfinished);
    if (at.token !== undefined) await endOfInteraction(unfinished, at, at.token);
    else if (thread !== undefined) await endIn(unfinished, at, thread);
  };
}

/** Where the messages of an answer are. */
export const shownIn = ({
  channel,
  shown,
}: Pick<UnfinishedAnswer, 'channel' | 'shown'>): ShownIn => ({
  in: channel,
  ...shown,
});

/** The messages of an answer as they are noted, by their ids. */
export const pagesOf = ({ pages, message }: Partial<ShownIn>): string[] =>
  pages?.split(' ') ?? (message === undefined ? [] : [message]);

/**
 * What Discord tells a message of an answer by, so that of several processes that post it one does; `removed` counts those
 * that were taken away before. At most 25 characters.
 */
export function pageNonce(answer: string, index: number, removed = 0): string {
  const seed = createHash('sha256').update(answer).digest('base64url').slice(0, 18);
  return `${seed}-${index}${removed === 0 ? '' : `-${removed}`}`;
}

/** Whether a button of it is about the answer, or stops it. */
export function isAbout(
  { components = [] }: APIMessage,
  id: string,
  { stops = false } = {},
): boolean {
  return components.some(
    (row) =>
      row.type === ComponentType.ActionRow &&
      row.components.some((button) => {
        const about = 'custom_id' in button ? answerOfButton(button.custom_id) : undefined;
        return about?.answer === id && (!stops || about.stops);
      }),
  );
}

/** What is shown, and the note under it; `undefined` where it does not fit. */
export function withNote(content: string, note: string): string | undefined {
  const line = `*${plain(note)}*`;
  const whole = content === '' ? line : `${content}\n${line}`;
  return whole.length > MAX_MESSAGE ? undefined : whole;
}
