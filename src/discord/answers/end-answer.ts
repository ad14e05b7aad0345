import { createHash } from 'node:crypto';
import { type APIMessage, type Client, ComponentType, MessageFlags, Routes } from 'discord.js';
import type { Logger } from 'pino';
import { createEncryption, type Encryption } from '../../bot/platform.ts';
import { answerOfButton } from '../../bot/shared/card.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import type { Interrupted } from '../../bot/shared/invocation.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import { isDeleted, isRefusal } from '../api/errors.ts';
import { renderButtons } from '../render/render.ts';
import { plain } from '../render/text.ts';
import { withoutProgress } from './answer-pages.ts';
import type { Conversations } from './conversations.ts';

/** Longest message. Source: Discord docs, "Create Message". */
const MAX_MESSAGE = 2_000;

/**
 * Place of an invocation or its answer: the channel or thread; the message that asks, has the pressed button, or is the newest
 * of the answer; and the interaction's token, encrypted, since it lets anyone write in the bot's name for 15 minutes.
 */
export interface FoundAt {
  in: string;
  message?: string;
  token?: string;
}

/** The outcome of a search for the message under way; without `content` it could not be read. */
interface Found {
  isOver?: boolean;
  growing?: { id: string; content?: string };
}

/** Encryption of interaction tokens under the bot's token, which is not in the files. */
export const tokenEncryption = (botToken: string) =>
  createEncryption(botToken, 'askwatch discord interaction');

/** Dependencies of `AnswerEnding`. */
interface EndingOptions {
  client: Client;
  api: ChannelApi;
  botToken: string;
  /** How long messages of an interaction are changed. */
  tokenLifeMs: number;
  conversations(): Conversations | undefined;
  log: Logger;
}

/**
 * Ends answers that a restart interrupted. The message with the Stop button keeps its text and gets the note. If no message of
 * the answer is shown, the note is the reply. Methods throw the errors of their calls.
 */
export class AnswerEnding {
  private readonly options: EndingOptions;
  private readonly tokens: Encryption;

  constructor(options: EndingOptions) {
    this.options = options;
    this.tokens = tokenEncryption(options.botToken);
  }

  async end(interrupted: Interrupted): Promise<void> {
    const { id, thread, shown } = interrupted;
    const at = foundAt(interrupted);
    const token = this.tokenOf(at, id, interrupted);
    if (shown === undefined) await this.reply(interrupted, at);
    else if (token !== undefined) await this.endOfInteraction(interrupted, token, at.message);
    else if (thread !== undefined) await this.endIn(interrupted, at, thread);
    else this.giveUp(at);
  }

  /** Replies with the note alone, since no message of the answer is shown. */
  private async reply(interrupted: Interrupted, at: FoundAt) {
    const { id, invocation, note, person } = interrupted;
    const token = this.tokenOf(at, invocation, interrupted);
    if (token !== undefined) return await this.replyToInteraction(interrupted, at, token);
    if (interrupted.private) return this.giveUp(at);
    const { api } = this.options;
    const message = { components: await buttonsOf(interrupted), nonce: endNonce(id) };
    const content = lineOf(note);
    const posted =
      at.message === undefined
        ? await api.send(at.in, { ...message, content: `<@${person}> ${content}` })
        : await api.reply(at.in, at.message, { ...message, content });
    await this.noteInline(interrupted, at, posted.id);
  }

  /** Discord knows messages of an interaction by no nonce: a follow-up that is repeated is there twice. */
  private async replyToInteraction(interrupted: Interrupted, at: FoundAt, token: string) {
    // The reply to a press is the message with the button, which stays as it is.
    if (at.message === undefined) {
      try {
        const shown = await this.endOfInteraction(interrupted, token);
        if (shown) await this.noteInline(interrupted, at, shown.id);
        return;
      } catch (error) {
        // "Thinking…" goes before a reply that only one person is to see.
        if (!isDeleted(error)) throw error;
      }
    }
    const body = { content: lineOf(interrupted.note), flags: MessageFlags.Ephemeral };
    const route = Routes.webhook(this.applicationId(), token);
    await this.options.client.rest.post(route, { auth: false, body });
  }

  /** Puts the note under a message that one person sees, or that stands where the bot may not write, or over "thinking…". */
  private async endOfInteraction(interrupted: Interrupted, token: string, message = '@original') {
    const { id, note } = interrupted;
    const { rest } = this.options.client;
    const route = Routes.webhookMessage(this.applicationId(), token, message);
    const shown = (await rest.get(route, { auth: false })) as APIMessage;
    const text = withoutProgress(shown.content);
    if (text.endsWith(lineOf(note))) return undefined;
    if (isAbout(shown, id) && !isAbout(shown, id, { stops: true })) return undefined;
    const content = withNote(text, note) ?? `${text.slice(0, MAX_MESSAGE / 2)}…\n${lineOf(note)}`;
    const components = await buttonsOf(interrupted);
    const flags = MessageFlags.SuppressEmbeds;
    const body = { content, components, flags, allowed_mentions: { parse: [] } };
    return (await rest.patch(route, { auth: false, body })) as APIMessage;
  }

  /** Ends an answer that is shown in regular messages, and remembered in `thread`. */
  private async endIn(interrupted: Interrupted, at: FoundAt, thread: string) {
    const { api } = this.options;
    const { id, note } = interrupted;
    const { growing, isOver } = await this.find(interrupted, at);
    if (isOver) return;
    const components = renderButtons(await interrupted.actionsIn(thread));
    const post = (nonce: string) => api.send(at.in, { content: lineOf(note), components, nonce });

    async function endWithNote(begun: { id: string; content?: string }) {
      const shown = begun.content === undefined ? undefined : withoutProgress(begun.content);
      const content = shown === undefined ? undefined : withNote(shown, note);
      if (content === undefined) {
        const kept = shown === undefined ? {} : { content: shown };
        await api.edit(at.in, begun.id, { ...kept, components: [] });
        return await post(endNonce(id));
      }
      const flags = MessageFlags.SuppressEmbeds;
      return await api.edit(at.in, begun.id, { content, components, flags });
    }

    let ended: APIMessage;
    if (growing) ended = await endWithNote(growing);
    else {
      // The first message may still be on its way from before the restart: Discord takes one of the two, and returns it.
      const posted = await post(pageNonce(id, 0));
      ended = isAbout(posted, id, { stops: true }) ? await endWithNote(posted) : posted;
    }
    await this.noteInline(interrupted, at, ended.id);
  }

  /** The message under way, as far as it may be read. */
  private async find(interrupted: Interrupted, at: FoundAt): Promise<Found> {
    try {
      return await this.read(interrupted, at);
    } catch (error) {
      if (!isRefusal(error) || isDeleted(error)) throw error;
      // Without Read Message History its buttons can still be taken away.
      return { growing: at.message === undefined ? undefined : { id: at.message } };
    }
  }

  private async read({ id, beganAtMs }: Interrupted, at: FoundAt): Promise<Found> {
    const { api } = this.options;
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

  /** Outside of a thread of its own, only the message connects to the conversation that remembers the question. */
  private async noteInline({ channel, thread }: Interrupted, at: FoundAt, message: string) {
    if (thread === undefined || at.in === thread) return;
    const place = { platform: 'discord', channel } as const;
    await this.options.conversations()?.addInline(at.in, message, { place, thread });
  }

  /** The token of an interaction, while Discord takes more for it. */
  private tokenOf({ token }: FoundAt, encryptedFor: string, { beganAtMs }: Interrupted) {
    if (token === undefined || Date.now() > beganAtMs + this.options.tokenLifeMs) return undefined;
    return this.tokens.decrypt(token, encryptedFor);
  }

  private applicationId(): string {
    const { application } = this.options.client;
    if (!application) throw new DeliveryError('Discord is not connected.', { permanent: false });
    return application.id;
  }

  private giveUp({ in: channel }: FoundAt) {
    this.options.log.info({ channel }, 'giving up on an answer that a restart cut short');
  }
}

/** Buttons where a thread remembers the question. */
const buttonsOf = async ({ private: only, thread, actionsIn }: Interrupted) =>
  renderButtons(only || thread === undefined ? [] : await actionsIn(thread));

/** Place of an answer's newest message; if there is none, of its question. */
export const foundAt = ({
  channel,
  shown,
  origin,
}: Pick<Interrupted, 'channel' | 'shown' | 'origin'>): FoundAt => ({
  in: channel,
  ...(shown ?? origin),
});

/** True if a message may belong to an answer that began at that time; the two clocks may differ by 2 min. */
const isNotBefore = ({ timestamp }: APIMessage, beganAtMs: number): boolean =>
  Date.parse(timestamp) > beganAtMs - 120_000;

const endNonce = (answer: string) => `end-${answer}`;

/**
 * The nonce of a message of an answer, so that Discord posts it once if it is sent twice; `removed` counts the messages that
 * were removed before. At most 25 characters.
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
  const whole = content === '' ? lineOf(note) : `${content}\n${lineOf(note)}`;
  return whole.length > MAX_MESSAGE ? undefined : whole;
}

const lineOf = (note: string) => `*${plain(note)}*`;
