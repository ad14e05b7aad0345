import type { ServerResponse } from 'node:http';
import type { Viewer } from '../login/guards.ts';
import { keepAlive, writeEvents } from '../shared/event-stream.ts';
import type { StatusPoller, StatusSnapshot } from './poller.ts';
import type { StatusWriter } from './writer.ts';

/** Members have streams of their own, which strangers can't use up. */
const MAX_STREAMS: Record<Viewer, number> = { member: 64, anyone: 500 };

/** An office may be behind one address. */
const MAX_STREAMS_PER_ADDRESS = 50;

/** The browser's pause before it reconnects. */
const RETRY_MS = 2_000;

interface StatusReader {
  viewer: Viewer;
  address: string;
  /** False until the first report is sent. */
  isReady: boolean;
}

/**
 * The open streams of the status page. A reader waits for the first report, is ready after it and gets every change, and
 * leaves when its response closes. The poller is followed while there are readers.
 */
export function createStatusStreams(poller: StatusPoller, writer: StatusWriter) {
  const readers = new Map<ServerResponse, StatusReader>();
  let latest: StatusSnapshot | undefined;
  let unfollow: (() => void) | undefined;
  let closed = false;
  const heartbeat = keepAlive(() => readers.keys());

  const count = (isCounted: (reader: StatusReader) => boolean) =>
    [...readers.values()].filter(isCounted).length;

  function sendChange(snapshot: StatusSnapshot) {
    const before = latest;
    latest = snapshot;
    if (!before) return;
    for (const viewer of ['member', 'anyone'] as const) {
      const ready = [...readers].filter(([, one]) => one.viewer === viewer && one.isReady);
      const change = ready.length > 0 ? writer.writeChange(before, snapshot, viewer) : undefined;
      if (change === undefined) continue;
      const frame = frameOf(change);
      for (const [response] of ready) writeEvents(response, frame);
    }
  }

  function remove(response: ServerResponse) {
    readers.delete(response);
    if (readers.size > 0) return;
    unfollow?.();
    unfollow = undefined;
    latest = undefined;
  }

  return {
    /** Call it before the answer's head is written. */
    hasRoom(viewer: Viewer, address: string): boolean {
      if (closed || count((one) => one.viewer === viewer) >= MAX_STREAMS[viewer]) return false;
      if (viewer === 'member') return true;
      const here = count((one) => one.viewer === 'anyone' && one.address === address);
      return here < MAX_STREAMS_PER_ADDRESS;
    },
    /** Sends the whole report, and then every change. */
    async open(response: ServerResponse, viewer: Viewer, address: string) {
      const reader: StatusReader = { viewer, address, isReady: false };
      readers.set(response, reader);
      response.on('close', () => remove(response));
      response.write(`retry: ${RETRY_MS}\n\n`);
      unfollow ??= poller.follow(sendChange);
      const snapshot = await poller.current();
      const { json } = await writer.report(snapshot, viewer);
      if (!readers.has(response)) return;
      reader.isReady = true;
      // All readers share the bytes of the report, however slowly they read.
      for (const part of [REPORT_HEAD, json, REPORT_TAIL]) writeEvents(response, part);
      const missed = latest && latest !== snapshot && writer.writeChange(snapshot, latest, viewer);
      if (missed) writeEvents(response, frameOf(missed));
    },
    close() {
      closed = true;
      clearInterval(heartbeat);
      unfollow?.();
      for (const response of readers.keys()) response.end();
    },
  };
}

/** JSON has no raw line break, so one `data:` line holds it. */
const frameOf = (json: string) => Buffer.from(`data: ${json}\n\n`);

const REPORT_HEAD = Buffer.from('data: {"kind":"report","report":');
const REPORT_TAIL = Buffer.from('}\n\n');
