import type { ServerResponse } from 'node:http';
import type { Viewer } from '../login/guards.ts';
import { keepAlive, writeEvents } from '../shared/event-stream.ts';
import type { StatusPoller, StatusSnapshot } from './poller.ts';
import type { StatusWriter } from './writer.ts';

/** Streams open at once; those who may open the console are not locked out by anyone else. */
const MAX_STREAMS: Record<Viewer, number> = { member: 64, anyone: 500 };

/** Streams of strangers at one address, so that nobody holds all of them; an office may be behind one. */
const MAX_STREAMS_OF_ADDRESS = 50;

/** The browser's pause before it comes back. */
const RETRY_MS = 2_000;

/** The open streams of the status page. What is sent is written once for all who see the same. */
export function createStatusStreams(poller: StatusPoller, writer: StatusWriter) {
  const readers = {
    member: new Map<ServerResponse, string>(),
    anyone: new Map<ServerResponse, string>(),
  };
  /** Those that have not been sent their report yet. */
  const waiting = new Set<ServerResponse>();
  let sent: StatusSnapshot | undefined;
  let unfollow: (() => void) | undefined;
  let closed = false;

  const all = () => [...readers.member.keys(), ...readers.anyone.keys()];
  const heartbeat = keepAlive(all);

  function send(snapshot: StatusSnapshot) {
    const before = sent;
    sent = snapshot;
    if (!before) return;
    for (const viewer of ['member', 'anyone'] as const) {
      const those = [...readers[viewer].keys()].filter((response) => !waiting.has(response));
      const changed = those.length > 0 ? writer.changed(before, snapshot, viewer) : undefined;
      if (changed === undefined) continue;
      const frame = frameOf(changed);
      for (const response of those) writeEvents(response, frame);
    }
  }

  function forget(response: ServerResponse, viewer: Viewer) {
    readers[viewer].delete(response);
    waiting.delete(response);
    if (readers.member.size + readers.anyone.size > 0) return;
    unfollow?.();
    unfollow = undefined;
    sent = undefined;
  }

  return {
    /** False when too many are open, of all or of a stranger's address, or all have been closed. */
    hasRoom(viewer: Viewer, address: string): boolean {
      if (closed || readers[viewer].size >= MAX_STREAMS[viewer]) return false;
      if (viewer === 'member') return true;
      const own = [...readers.anyone.values()].filter((one) => one === address);
      return own.length < MAX_STREAMS_OF_ADDRESS;
    },
    /** Sends the whole report, and from then on what changes. Ask `hasRoom` before the answer's head is written. */
    async open(response: ServerResponse, viewer: Viewer, address: string) {
      readers[viewer].set(response, address);
      waiting.add(response);
      response.on('close', () => forget(response, viewer));
      response.write(`retry: ${RETRY_MS}\n\n`);
      unfollow ??= poller.follow(send);
      const snapshot = await poller.current();
      const { json } = await writer.report(snapshot, viewer);
      if (!waiting.delete(response)) return;
      // The bytes are shared by all who are sent them, however slowly they read.
      for (const part of [REPORT_HEAD, json, REPORT_TAIL]) writeEvents(response, part);
      const missed = sent && sent !== snapshot && writer.changed(snapshot, sent, viewer);
      if (missed) writeEvents(response, frameOf(missed));
    },
    /** Ends all streams and takes no more. */
    close() {
      closed = true;
      clearInterval(heartbeat);
      unfollow?.();
      for (const response of all()) response.end();
    },
  };
}

/** JSON has no raw line break, so one `data:` line holds it. */
const frameOf = (json: string) => Buffer.from(`data: ${json}\n\n`);

const REPORT_HEAD = Buffer.from('data: {"kind":"report","report":');
const REPORT_TAIL = Buffer.from('}\n\n');
