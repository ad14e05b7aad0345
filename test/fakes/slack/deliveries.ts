import { createHmac } from 'node:crypto';
import type { WebSocket } from 'ws';
import { afterTurns } from '../after-turns.ts';

/** A delivery to the app: an event, a button press or a slash command. */
export type Delivery =
  | { type: 'events_api' | 'interactive'; payload: Record<string, unknown> }
  | { type: 'slash_commands'; payload: Record<string, string> };

/** How the app took a delivery. */
export interface Ack {
  type: Delivery['type'];
  /** Undefined when it did not in time. */
  ms: number | undefined;
  /** The app's response. */
  payload: unknown;
}

/** Source: Slack docs, "Using Socket Mode", "Acknowledge events"; "Events API", "Responding to events". */
export const ACK_WITHIN_MS = 3_000;

/** Deliveries over Socket Mode's websockets: envelopes out, acknowledgements in. */
export interface SocketDeliveries {
  /** A connection that the app opened. */
  accept(socket: WebSocket): void;
  sockets: Set<WebSocket>;
  /** Sends to one of the connections, to each in turn, or to the next one that is opened. */
  deliver(
    delivery: Delivery,
    options: { retryAttempt?: number; ackWithinMs: number },
  ): Promise<Ack>;
}

export function createSocketDeliveries(): SocketDeliveries {
  const sockets = new Set<WebSocket>();
  const acks = new Map<string, (payload: unknown) => void>();
  const waiting: ((socket: WebSocket) => void)[] = [];
  let envelopes = 0;

  function connection(): Promise<WebSocket> {
    const all = [...sockets].filter((socket) => socket.readyState === socket.OPEN);
    // Slack hands each to any of them. Source: Slack docs, "Using Socket Mode", "Using multiple connections".
    const open = all[envelopes % all.length];
    return open ? Promise.resolve(open) : new Promise((resolve) => waiting.push(resolve));
  }

  return {
    sockets,
    accept(socket) {
      sockets.add(socket);
      // Each delivery that waits for its acknowledgement listens for the end.
      socket.setMaxListeners(0);
      const pings = setInterval(() => socket.ping(), 2_000);
      socket.on('error', () => {});
      socket.on('close', () => {
        clearInterval(pings);
        sockets.delete(socket);
      });
      socket.on('message', (data) => {
        const { envelope_id, payload } = JSON.parse(String(data)) as Record<string, unknown>;
        acks.get(String(envelope_id))?.(payload);
        acks.delete(String(envelope_id));
      });
      socket.send(
        JSON.stringify({
          type: 'hello',
          num_connections: sockets.size,
          connection_info: { app_id: 'A00FAKE' },
          debug_info: { host: 'fake', approximate_connection_time: 18_060 },
        }),
      );
      for (const resolve of waiting.splice(0)) resolve(socket);
    },
    async deliver({ type, payload }, { retryAttempt = 0, ackWithinMs }) {
      const socket = await connection();
      envelopes += 1;
      const envelopeId = `envelope-${envelopes}`;
      const sentAtMs = performance.now();
      const acked = new Promise<Ack>((resolve) => {
        const giveUp = () => {
          inTime();
          socket.off('close', giveUp);
          acks.delete(envelopeId);
          resolve({ type, ms: undefined, payload: undefined });
        };
        const inTime = afterTurns(ackWithinMs, giveUp);
        socket.once('close', giveUp);
        acks.set(envelopeId, (answer) => {
          inTime();
          socket.off('close', giveUp);
          resolve({ type, ms: performance.now() - sentAtMs, payload: answer });
        });
      });
      const retry = {
        retry_attempt: retryAttempt,
        retry_reason: retryAttempt > 0 ? 'timeout' : '',
      };
      socket.send(
        JSON.stringify({
          envelope_id: envelopeId,
          type,
          accepts_response_payload: type !== 'events_api',
          payload,
          ...(type === 'events_api' ? retry : {}),
        }),
      );
      return await acked;
    },
  };
}

/** Sends any body over HTTP, signed as Slack signs. Gives the status of the answer. */
export async function sendSigned(
  url: string,
  {
    body,
    contentType,
    signingSecret,
  }: { body: string; contentType: string; signingSecret: string },
): Promise<number> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const hmac = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`);
  const headers = {
    'content-type': contentType,
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': `v0=${hmac.digest('hex')}`,
  };
  const response = await fetch(url, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
}

/** Delivers over HTTP, signed as Slack signs. Source: Slack docs, "Verifying requests from Slack". */
export async function deliverHttp(
  url: string,
  delivery: Delivery,
  options: {
    signingSecret: string;
    ackWithinMs: number;
    retryAttempt?: number;
    retryReason?: string;
    aheadSeconds?: number;
  },
): Promise<Ack & { status: number }> {
  const { type } = delivery;
  const json = type === 'events_api';
  const body = json ? JSON.stringify(delivery.payload) : formOf(delivery);
  const timestamp = String(Math.floor(Date.now() / 1000) + (options.aheadSeconds ?? 0));
  const hmac = createHmac('sha256', options.signingSecret).update(`v0:${timestamp}:${body}`);
  const sentAtMs = performance.now();
  const late = new AbortController();
  const inTime = afterTurns(options.ackWithinMs, () => late.abort());
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': json ? 'application/json' : 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': `v0=${hmac.digest('hex')}`,
        ...(options.retryAttempt
          ? {
              'x-slack-retry-num': String(options.retryAttempt),
              'x-slack-retry-reason': options.retryReason ?? 'http_timeout',
            }
          : {}),
      },
      body,
      signal: late.signal,
    });
    const answer = await response.text();
    return {
      type,
      status: response.status,
      ms: response.ok ? performance.now() - sentAtMs : undefined,
      payload: answer === '' ? {} : tryJson(answer),
    };
  } catch {
    // Too late, or nobody there.
    return { type, status: 0, ms: undefined, payload: undefined };
  } finally {
    inTime();
  }
}

/** A slash command's fields, or the whole payload of a press as one. */
function formOf({ type, payload }: Delivery): string {
  const fields = type === 'slash_commands' ? payload : { payload: JSON.stringify(payload) };
  return new URLSearchParams(fields).toString();
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
