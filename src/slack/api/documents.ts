import { createHash } from 'node:crypto';
import type { types, webApi } from '@slack/bolt';
import type { AnswerDocument } from '../../bot/shared/invocation.ts';
import { context, type ShownMessage } from '../render/blocks.ts';
import type { BotIdentity } from './bot-identity.ts';
import { readFailure } from './call-failure.ts';
import { CLOCK_SKEW_MS, type Destination, readingOf, readMessages } from './messages.ts';
import type { ChannelCall, SendQueue } from './send-queue.ts';

/** Files of ours in Slack. Throws what the `WebClient` throws. */
export type Documents = ReturnType<typeof createDocuments>;

const UPLOAD_MS = 30_000;

/** Tries to share a file whose end is not known. */
const MAX_TRIES = 3;

/** Messages of a thread that are looked through for one of ours. */
const LOOKUP_COUNT = 200;

const BLOCK = 'askwatch-document-';

/**
 * Puts documents into threads, in the three steps that Slack has for it. Nothing that was shared has metadata, so its block is
 * named after what it was shared for. Source: Slack docs, "Working with files", "Uploading files".
 */
export function createDocuments(
  client: webApi.WebClient,
  queue: SendQueue,
  { self, fetch }: { self: BotIdentity; fetch: typeof globalThis.fetch },
) {
  /** Where it goes is told by Slack; it is called only where Slack itself may be. */
  async function upload(url: string, bytes: Buffer) {
    const { protocol, origin } = new URL(url);
    if (protocol !== 'https:' && origin !== new URL(client.slackApiUrl).origin) {
      throw new Error('Slack returned an unencrypted upload address.');
    }
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(bytes),
      redirect: 'error',
      signal: AbortSignal.timeout(UPLOAD_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`Slack rejected the file (HTTP ${response.status}).`);
  }

  /** Undefined where that may not be read. */
  async function isShared(to: Destination, block: string, sinceMs: number) {
    return await wasFound(to, block, sinceMs).catch((error: unknown) => {
      if (readFailure(error).kind === 'refused') return undefined;
      throw error;
    });
  }

  async function wasFound({ channel, thread }: Destination, block: string, sinceMs: number) {
    const oldest = String(Math.floor((sinceMs - CLOCK_SKEW_MS) / 1000));
    const { messages = [] } = await queue.patiently({
      method: readingOf(thread),
      channel,
      repeatable: true,
      run: () => readMessages(client, { channel, oldest, limit: LOOKUP_COUNT }, thread),
    });
    return messages.some(
      ({ user, blocks = [] }) =>
        user === self.userId && blocks.some(({ block_id }) => block_id === block),
    );
  }

  return {
    /** Shares a document in a thread, once: whether an attempt with a lost answer went through is looked up. */
    async share(
      to: Destination & { thread: string },
      { name, text }: AnswerDocument,
      id: string,
    ): Promise<void> {
      const { channel, thread } = to;
      const sinceMs = Date.now();
      const block = `${BLOCK}${createHash('sha256').update(id).digest('base64url').slice(0, 22)}`;
      const call = <T>(method: string, run: () => Promise<T>): ChannelCall<T> => ({
        ...{ method, channel, run },
      });
      const bytes = Buffer.from(text);
      const { upload_url: url = '', file_id: file = '' } = await queue.patiently({
        ...call('files.getUploadURLExternal', () =>
          client.files.getUploadURLExternal({ filename: name, length: bytes.length }),
        ),
        repeatable: true,
      });
      await queue.patiently({
        ...call('files upload', () => upload(url, bytes)),
        repeatable: true,
      });
      const blocks: types.KnownBlock[] = [{ ...context(`As a file: ${name}`), block_id: block }];
      for (let tries = 1; ; tries += 1) {
        try {
          await queue.patiently(
            call('files.completeUploadExternal', () =>
              client.files.completeUploadExternal({
                files: [{ id: file, title: name }],
                blocks,
                channel_id: channel,
                thread_ts: thread,
              }),
            ),
          );
          return;
        } catch (error) {
          if (readFailure(error).kind !== 'unknown' || tries === MAX_TRIES) throw error;
          const found = await isShared(to, block, sinceMs);
          if (found) return;
          if (found === undefined) throw error;
        }
      }
    },
  };
}

/** Whether a message shows a document of ours, and no part of an answer. */
export const isDocument = ({ blocks = [] }: ShownMessage) =>
  blocks.some(({ block_id = '' }) => block_id.startsWith(BLOCK));
