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

/** A connection without a hello for this long is dropped. */
const HELLO_WITHIN_MS = 15_000;
const CLOSE_WITHIN_MS = 3_000;
/** A connection that lasted this long was good, so the next one opens at once. */
const STEADY_MS = 10_000;
const MAX_BACKOFF_MS = 30_000;

/**
 * The connection for Slack's events in Socket Mode, opened again whenever it ends.
 *
 * Bolt's own reconnecting is off: a failed `apps.connections.open` would be a rejected promise without a listener, which ends
 * the program, and each reconnection takes five seconds (@slack/socket-mode 3.1.0, `delayReconnectAttempt`).
 */
export function createSocket(options: {
  appToken: string;
  clientOptions: webApi.WebClientOptions;
  boltLog: BoltLogger;
  log: Logger;
  /** Before the second attempt to connect; doubles with each attempt. */
  retryMs: number;
  /** Resolves to true if an envelope is acknowledged although its handler threw. */
  onError(failed: SocketModeReceiverProcessEventErrorHandlerArgs): Promise<boolean>;
  /** Called if Slack refuses to reconnect permanently. */
  onRefused(error: Error): void;
}) {
  const { appToken, clientOptions, boltLog, log, retryMs, onRefused } = options;
  const receiver = new SocketModeReceiver({
    appToken,
    logger: boltLog,
    autoReconnectEnabled: false,
    processEventErrorHandler: options.onError,
    // The socket's client changes this object.
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

  /** Immediately after a good connection, then longer and longer. */
  const backoffMs = () =>
    failures === 0 ? 0 : Math.min(MAX_BACKOFF_MS, retryMs * 2 ** (failures - 1));

  async function connect(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(backoffMs(), undefined, { signal });
      failures += 1;
      const deadline = setTimeout(() => void client.disconnect(), HELLO_WITHIN_MS);
      try {
        await client.start().finally(() => clearTimeout(deadline));
        // Closed while it was opening.
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
     * Resolves once Slack says hello. Throws `PlatformStartError` if Slack refuses the app token or the socket is closed;
     * retries after other errors.
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
    /** Resolves once the connection is closed, or after a few seconds if Slack doesn't answer. */
    async close() {
      closing.abort();
      const timedOut = pause(CLOSE_WITHIN_MS, 'late' as const, { ref: false });
      const settled = (async () => {
        // Waits for a connection that is just opening.
        await opening?.catch(() => {});
        if (connected) await client.disconnect();
      })();
      if ((await Promise.race([settled, timedOut])) === 'late') {
        log.debug('Slack did not close the connection in time; dropping it');
        // The second call doesn't wait for Slack.
        await client.disconnect();
      }
    },
  };
}

type Frame = { payload?: { type?: unknown } };

type ReadFrame = (data: unknown, isBinary: boolean) => Promise<void>;

/**
 * Keeps an undocumented frame from ending the program: the client reads `payload.event.type` of any frame, and nothing catches
 * its error (@slack/socket-mode 3.1.0, `onWebSocketMessage`).
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

/** The notice about dropped events is the only payload without an event, and needs one to be acknowledged. */
function withEvent(frame: string): string {
  // The client parses the frame itself.
  new JsonScan().add(frame);
  if (!frame.includes(RATE_LIMITED)) return frame;
  try {
    const { payload, ...envelope } = parseUntrustedJson(frame) as Frame;
    if (payload?.type !== RATE_LIMITED) return frame;
    return JSON.stringify({ ...envelope, payload: { ...payload, event: { type: RATE_LIMITED } } });
  } catch {
    // The client reports that it isn't JSON.
    return frame;
  }
}
