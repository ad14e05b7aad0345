import { createHash } from 'node:crypto';
import type { types, webApi } from '@slack/bolt';
import type { AnswerDocument } from '../../bot/shared/invocation.ts';
import { context, type ShownMessage } from '../render/blocks.ts';
import type { BotIdentity } from './bot-identity.ts';
import { readFailure } from './call-failure.ts';
import { CLOCK_SKEW_MS, readPatiently } from './messages.ts';
import type { SendQueue } from './send-queue.ts';

const UPLOAD_MS = 30_000;

/** Tries to share a file if answers are lost. */
const MAX_TRIES = 3;

/** Messages of a thread that are searched for a shared file. */
const LOOKUP_COUNT = 200;
const BLOCK = 'askwatch-document-';

interface DocumentPlace {
  channel: string;
  thread: string;
}

/**
 * Shares documents in threads, in Slack's three steps. Shared files have no metadata, so a block carries the id. Throws the
 * errors of the `WebClient`. Source: Slack docs, "Working with files", "Uploading files".
 */
export class Documents {
  private readonly client: webApi.WebClient;
  private readonly queue: SendQueue;
  private readonly self: BotIdentity;
  private readonly fetch: typeof globalThis.fetch;

  constructor(
    client: webApi.WebClient,
    queue: SendQueue,
    { self, fetch }: { self: BotIdentity; fetch: typeof globalThis.fetch },
  ) {
    this.client = client;
    this.queue = queue;
    this.self = self;
    this.fetch = fetch;
  }

  /** Shares a document once: if an answer is lost, it looks for the file before it tries again. */
  async share(to: DocumentPlace, { name, text }: AnswerDocument, id: string): Promise<void> {
    const { channel, thread } = to;
    const { client, queue } = this;
    const sinceMs = Date.now();
    const bytes = Buffer.from(text);
    const { upload_url: url = '', file_id: file = '' } = await queue.patiently({
      method: 'files.getUploadURLExternal',
      channel,
      repeatable: true,
      run: () => client.files.getUploadURLExternal({ filename: name, length: bytes.length }),
    });
    const upload = () => this.upload(url, bytes);
    await queue.patiently({ method: 'files upload', channel, repeatable: true, run: upload });
    const block = `${BLOCK}${createHash('sha256').update(id).digest('base64url').slice(0, 22)}`;
    const shared = {
      files: [{ id: file, title: name }] as [{ id: string; title: string }],
      blocks: [{ ...context(`As a file: ${name}`), block_id: block }] as types.KnownBlock[],
      channel_id: channel,
      thread_ts: thread,
    };
    const run = () => client.files.completeUploadExternal(shared);
    for (let tries = 1; ; tries += 1) {
      try {
        await queue.patiently({ method: 'files.completeUploadExternal', channel, run });
        return;
      } catch (error) {
        if (readFailure(error).kind !== 'unknown' || tries === MAX_TRIES) throw error;
        const found = await this.isShared(to, block, sinceMs);
        if (found) return;
        if (found === undefined) throw error;
      }
    }
  }

  /** Slack names the address. Plain HTTP is allowed only for a Slack at such an address itself. */
  private async upload(url: string, bytes: Buffer): Promise<void> {
    const { protocol, origin } = new URL(url);
    if (protocol !== 'https:' && origin !== new URL(this.client.slackApiUrl).origin) {
      throw new Error('Slack returned an unencrypted upload address.');
    }
    const response = await this.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(bytes),
      redirect: 'error',
      signal: AbortSignal.timeout(UPLOAD_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`Slack rejected the file (HTTP ${response.status}).`);
  }

  /** `undefined` if the bot may not read the thread. */
  private async isShared(to: DocumentPlace, block: string, sinceMs: number) {
    const oldest = String(Math.floor((sinceMs - CLOCK_SKEW_MS) / 1000));
    const bounds = { ...to, oldest, limit: LOOKUP_COUNT };
    try {
      const { messages = [] } = await readPatiently(this.client, this.queue, bounds);
      return messages.some(
        ({ user, blocks = [] }) =>
          user === this.self.userId && blocks.some(({ block_id }) => block_id === block),
      );
    } catch (error) {
      if (readFailure(error).kind === 'refused') return undefined;
      throw error;
    }
  }
}

export const isDocument = ({ blocks = [] }: ShownMessage) =>
  blocks.some(({ block_id = '' }) => block_id.startsWith(BLOCK));
