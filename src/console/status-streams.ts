import type { ServerResponse } from 'node:http';
import type { Seen, StatusLooks } from './status-looks.ts';
import type { Audience, StatusWriter } from './status-writer.ts';

/** Streams open at once; those who may open the console are not locked out by anyone else. */
const MAX_STREAMS: Record<Audience, number> = { member: 64, public: 500 };

/** A browser that has not read so many bytes is cut off; it comes back and begins anew. */
const MAX_UNREAD_BYTES = 4_000_000;

/** How often a silent stream gets a comment, so that nothing between takes it for dead. */
const HEARTBEAT_MS = 15_000;

/** The browser's pause before it comes back. */
const RETRY_MS = 2_000;

/** The open streams of the status page. What is sent is written once for all of one audience. */
export interface StatusStreams {
  /** False when too many are open, or all have been closed. */
  hasRoom(audience: Audience): boolean;
  /** Sends the whole report, and from then on what changes. Ask `hasRoom` before the answer's head is written. */
  open(response: ServerResponse, audience: Audience): Promise<void>;
  /** Ends all streams and takes no more. */
  close(): void;
}

export function createStatusStreams(looks: StatusLooks, writer: StatusWriter): StatusStreams {
  const readers: Record<Audience, Set<ServerResponse>> = { member: new Set(), public: new Set() };
  /** Those that have not been sent their report yet. */
  const waiting = new Set<ServerResponse>();
  let told: Seen | undefined;
  let unfollow: (() => void) | undefined;
  let closed = false;

  const heartbeat = setInterval(() => {
    for (const response of all()) write(response, ': still here\n\n');
  }, HEARTBEAT_MS);
  heartbeat.unref();

  const all = () => [...readers.member, ...readers.public];

  /** Looks at what is unread before it adds: one large frame alone is no sign of a slow reader. */
  function write(response: ServerResponse, text: string) {
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else response.write(text);
  }

  function tell(seen: Seen) {
    const before = told;
    told = seen;
    if (!before) return;
    for (const audience of ['member', 'public'] as const) {
      const those = [...readers[audience]].filter((response) => !waiting.has(response));
      const changed = those.length > 0 ? writer.changed(before, seen, audience) : undefined;
      if (changed === undefined) continue;
      for (const response of those) write(response, frameOf(changed));
    }
  }

  function forget(response: ServerResponse, audience: Audience) {
    readers[audience].delete(response);
    waiting.delete(response);
    if (readers.member.size + readers.public.size > 0) return;
    unfollow?.();
    unfollow = undefined;
    told = undefined;
  }

  return {
    hasRoom: (audience) => !closed && readers[audience].size < MAX_STREAMS[audience],
    async open(response, audience) {
      readers[audience].add(response);
      waiting.add(response);
      response.on('close', () => forget(response, audience));
      response.write(`retry: ${RETRY_MS}\n\n`);
      unfollow ??= looks.follow(tell);
      const seen = await looks.current();
      const report = await writer.report(seen, audience);
      if (!waiting.delete(response)) return;
      write(response, frameOf(`{"kind":"report","report":${report}}`));
      const missed = told && told !== seen && writer.changed(seen, told, audience);
      if (missed) write(response, frameOf(missed));
    },
    close() {
      closed = true;
      clearInterval(heartbeat);
      unfollow?.();
      for (const response of all()) response.end();
    },
  };
}

/** JSON has no raw line break, so one `data:` line holds it. */
const frameOf = (json: string) => `data: ${json}\n\n`;
