import { setTimeout as pause } from 'node:timers/promises';
import {
  type Logger as BoltLogger,
  SocketModeReceiver,
  type SocketModeReceiverProcessEventErrorHandlerArgs,
  type webApi,
} from '@slack/bolt';
import type { Logger } from 'pino';
import { PlatformStartError } from '../../bot/shared/errors.ts';
import { JsonScan, parseUntrustedJson } from '../../contracts/parse-json.ts';
import { readFailure, startError } from '../api/call-failure.ts';

/** A connection on which nobody said hello for so long is none. */
const HELLO_WITHIN_MS = 15_000;
const CLOSE_WITHIN_MS = 3_000;
/** A connection that held for so long was a good one: the next may be opened at once. */
const STEADY_MS = 10_000;

const MAX_BACKOFF_MS = 30_000;

/**
 * Opens the connection over which Slack hands us events in Socket Mode, and opens it again whenever it ends.
 *
 * Bolt's own reconnecting is off. With it a failed `apps.connections.open` is a rejected promise that nobody listens to,
 * which ends the program, and every reconnection takes five seconds (@slack/socket-mode 3.1.0, `delayReconnectAttempt`).
 */
export function createSocket(options: {
  appToken: string;
  clientOptions: webApi.WebClientOptions;
  boltLog: BoltLogger;
  log: Logger;
  /** Before the second attempt to connect; doubled with each further one. */
  retryMs: number;
  /** Whether an envelope is acknowledged whose handling threw. */
  onError(failed: SocketModeReceiverProcessEventErrorHandlerArgs): Promise<boolean>;
  /** Slack refuses to connect us again, for good. */
  onRefused(error: Error): void;
}) {
  const { appToken, clientOptions, boltLog, log, retryMs, onRefused } = options;
  const receiver = new SocketModeReceiver({
    appToken,
    logger: boltLog,
    autoReconnectEnabled: false,
    processEventErrorHandler: options.onError,
    // Its own copy: the client of the socket writes into what it is given.
    installerOptions: { clientOptions: { ...clientOptions } },
  });
  const { client } = receiver;
  guardSocket(client, log);
  const closing = new AbortController();
  let connected = false;
  let connectedAtMs = 0;
  let failures = 0;
  let opening: Promise<void> | undefined;

  client.on('connected', () => {
    connected = true;
    connectedAtMs = performance.now();
  });
  client.on('disconnected', () => {
    if (!connected) return;
    connected = false;
    if (performance.now() - connectedAtMs >= STEADY_MS) failures = 0;
    if (closing.signal.aborted) return;
    log.debug('the connection to Slack ended; reconnecting');
    opening = connect(closing.signal).catch((error: unknown) => {
      if (!closing.signal.aborted) onRefused(error instanceof Error ? error : new Error('refused'));
    });
  });

  /** At once after a good connection, then longer and longer. */
  const backoffMs = () =>
    failures === 0 ? 0 : Math.min(MAX_BACKOFF_MS, retryMs * 2 ** (failures - 1));

  /** Connects, however often it takes. */
  async function connect(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(backoffMs(), undefined, { signal });
      failures += 1;
      const deadline = setTimeout(() => void client.disconnect(), HELLO_WITHIN_MS);
      try {
        await client.start().finally(() => clearTimeout(deadline));
        // Closed while it was being opened.
        if (signal.aborted) await client.disconnect();
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        const refusal = error === undefined ? undefined : startError(error, 'SLACK_APP_TOKEN');
        if (refusal) throw refusal;
        const { code, retryAfterMs = 0 } = readFailure(error);
        log.warn({ reason: code }, 'could not connect to Slack; retrying');
        await pause(retryAfterMs, undefined, { signal });
      }
    }
  }

  return {
    receiver,
    /**
     * Resolves once Slack said hello. Throws `PlatformStartError` when Slack refuses the app token, or it is closed before; waits
     * out the rest.
     */
    async open() {
      const { signal } = closing;
      opening = connect(signal);
      try {
        await opening;
      } catch (error) {
        if (!signal.aborted) throw error;
        throw new PlatformStartError('Slack was stopped before it was connected.', {
          cause: error,
        });
      }
    },
    /** Resolves once the connection is closed, or after a few seconds if Slack does not answer. */
    async close() {
      closing.abort();
      const timedOut = pause(CLOSE_WITHIN_MS, 'late' as const, { ref: false });
      const settled = (async () => {
        // A connection just being opened is there after this, or is not.
        await opening?.catch(() => {});
        if (connected) await client.disconnect();
      })();
      if ((await Promise.race([settled, timedOut])) === 'late') {
        log.debug('Slack did not close the connection in time; dropping it');
        // Asked a second time, the client ends it without waiting for the other side.
        await client.disconnect();
      }
    },
  };
}

type Frame = { payload?: { type?: unknown } };

type ReadFrame = (data: unknown, isBinary: boolean) => Promise<void>;

/**
 * Keeps a frame that is none of those documented from ending the program: the client reads `payload.event.type` whatever
 * came, and what it throws nobody catches (@slack/socket-mode 3.1.0, `onWebSocketMessage`).
 */
export function guardSocket(client: SocketModeReceiver['client'], log: Logger): void {
  const readers = client.listeners('ws_message') as ReadFrame[];
  client.removeAllListeners('ws_message');
  const leaveOut = (error: unknown) =>
    log.warn({ err: error }, 'Slack sent an unreadable message; ignoring it');
  client.on('ws_message', (data: unknown, isBinary: boolean) => {
    try {
      const frame = isBinary ? data : withEvent(String(data));
      for (const read of readers) read(frame, isBinary).catch(leaveOut);
    } catch (error) {
      leaveOut(error);
    }
  });
}

export const RATE_LIMITED = 'app_rate_limited';

/** The notice that events are left out is the one payload of the Events API without an event: it gets one, to be acknowledged. */
function withEvent(frame: string): string {
  // The client parses it whatever it holds.
  new JsonScan().add(frame);
  if (!frame.includes(RATE_LIMITED)) return frame;
  try {
    const { payload, ...envelope } = parseUntrustedJson(frame) as Frame;
    if (payload?.type !== RATE_LIMITED) return frame;
    return JSON.stringify({ ...envelope, payload: { ...payload, event: { type: RATE_LIMITED } } });
  } catch {
    // Left to the client, which says that it is no JSON.
    return frame;
  }
}
