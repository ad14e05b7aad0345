import { createHash } from 'node:crypto';
import { type APIMessage, type Client, ComponentType, MessageFlags, Routes } from 'discord.js';
import type { Logger } from 'pino';
import { stateByButtons } from '../../bot/ask/answer-buttons.ts';
import { createEncryption, type Encryption } from '../../bot/platform.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import type { Interrupted } from '../../bot/shared/invocation.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import { isDeleted, isRefusal } from '../api/errors.ts';
import { renderButtons } from '../render/render.ts';
import { plain } from '../render/text.ts';
import { withoutProgress } from './answer-pages.ts';
import type { MessageConversations } from './conversations.ts';

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

/** Without `content` the message could not be read. */
interface Found {
  isOver?: boolean;
  growing?: { id: string; content?: string };
}

/** Encryption of interaction tokens under the bot's token, which is not in the files. */
export const tokenEncryption = (botToken: string) =>
  createEncryption(botToken, 'askwatch discord interaction');

interface EndingOptions {
  client: Client;
  api: ChannelApi;
  botToken: string;
  tokenLifeMs: number;
  conversations(): MessageConversations | undefined;
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

  /** Messages of an interaction have no nonce, so a repeated follow-up is posted twice. */
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

  /** Adds the note to a private message, to one in a channel where the bot may not write, or to "thinking…". */
  private async endOfInteraction(interrupted: Interrupted, token: string, message = '@original') {
    const { id, note } = interrupted;
    const { rest } = this.options.client;
    const route = Routes.webhookMessage(this.applicationId(), token, message);
    const shown = (await rest.get(route, { auth: false })) as APIMessage;
    const text = withoutProgress(shown.content);
    if (text.endsWith(lineOf(note))) return undefined;
    if (stateOf(shown, id) === 'ended') return undefined;
    const content = withNote(text, note) ?? `${text.slice(0, MAX_MESSAGE / 2)}…\n${lineOf(note)}`;
    const components = await buttonsOf(interrupted);
    const flags = MessageFlags.SuppressEmbeds;
    const body = { content, components, flags, allowed_mentions: { parse: [] } };
    return (await rest.patch(route, { auth: false, body })) as APIMessage;
  }

  /** Ends an answer in regular messages. */
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
      const posted = await post(pageNonce(id, '0'));
      ended = stateOf(posted, id) === 'growing' ? await endWithNote(posted) : posted;
    }
    await this.noteInline(interrupted, at, ended.id);
  }

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
    if (known && stateOf(known, id) === 'growing') return { growing: known };
    // A newer message may be posted and not noted.
    const newer = (await api.recent(at.in)).filter((message) => isNotBefore(message, beganAtMs));
    const growing = newer.find((message) => stateOf(message, id) === 'growing');
    if (growing) return { growing };
    const isOver = [...newer, ...(known ? [known] : [])].some((message) => stateOf(message, id));
    return isOver ? { isOver } : { growing: known };
  }

  /** Outside of threads, only the message leads to the conversation. */
  private async noteInline({ channel, thread }: Interrupted, at: FoundAt, message: string) {
    if (thread === undefined || at.in === thread) return;
    const place = { platform: 'discord', channel } as const;
    await this.options.conversations()?.addInline(at.in, message, { place, thread });
  }

  /** `undefined` once Discord no longer accepts it. */
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

const buttonsOf = async ({ private: only, thread, actionsIn }: Interrupted) =>
  renderButtons(only || thread === undefined ? [] : await actionsIn(thread));

/** The place of an answer's newest message, or of its question. */
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

/** The nonce of a message of an answer, so that Discord posts it once if it is sent twice. At most 25 characters. */
export function pageNonce(answer: string, key: string): string {
  const seed = createHash('sha256').update(answer).digest('base64url').slice(0, 18);
  return `${seed}-${key}`;
}

function stateOf({ components = [] }: APIMessage, id: string) {
  const buttons = components.flatMap((row) =>
    row.type === ComponentType.ActionRow ? row.components : [],
  );
  const ids = buttons.flatMap((button) => ('custom_id' in button ? [button.custom_id] : []));
  return stateByButtons(ids, id);
}

/** Adds a note below; `undefined` if it doesn't fit. */
export function withNote(content: string, note: string): string | undefined {
  const whole = content === '' ? lineOf(note) : `${content}\n${lineOf(note)}`;
  return whole.length > MAX_MESSAGE ? undefined : whole;
}

const lineOf = (note: string) => `*${plain(note)}*`;
