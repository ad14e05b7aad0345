import { setTimeout as pause } from 'node:timers/promises';
import type { App, Context } from '@slack/bolt';
import {
  defaultProcessEventErrorHandler,
  HTTPModuleFunctions,
  type ReceiverEvent,
  type ReceiverProcessEventErrorHandlerArgs,
  type ReceiverUnhandledRequestHandlerArgs,
  type SocketModeReceiverProcessEventErrorHandlerArgs,
} from '@slack/bolt';
import type { Logger } from 'pino';
import { RATE_LIMITED } from '../workspaces/socket.ts';

class NotHeardError extends Error {
  override name = 'NotHeardError' as const;
}

export interface SlackDelivery {
  readonly comesAgain: boolean;
  /** The request could not be stored, so Slack must send the event again. */
  notHeard(): void;
}

/** Source: Slack docs, "Events API", "Retries". */
const RETRIES = 3;
const LOOK_AGAIN_MS = 5;
const DELIVERY = 'askwatchDelivery';

export const deliveryOf = (context: Context): SlackDelivery => context[DELIVERY];

/**
 * Acknowledges an event after its listeners, and not at all if one could not store it. Bolt acknowledges each event first, and
 * a crash would lose it (@slack/bolt 5.1.0, `App.processEvent`).
 *
 * Logs and acknowledges the notice that Slack drops events, which Bolt doesn't know. Source: Slack docs, "Events API", "Rate
 * limiting": more than 30,000 events of a workspace in an hour.
 *
 * Returns a function that resolves when nothing is left to acknowledge, or after the time limit.
 */
export function acknowledgeEvents(app: App, log: Logger): (withinMs: number) => Promise<void> {
  const processEvent = app.processEvent.bind(app);
  const unacknowledged = new Set<ReceiverEvent>();

  app.processEvent = async (received) => {
    unacknowledged.add(received);
    const ack = async (response: unknown) => {
      await received.ack(response);
      unacknowledged.delete(received);
    };
    await acknowledge({ ...received, ack }).finally(() => unacknowledged.delete(received));
  };

  async function acknowledge(received: ReceiverEvent): Promise<void> {
    const { body, ack, retryNum = 0, customProperties } = received;
    if (body?.type === RATE_LIMITED) {
      log.warn(
        { teamId: body.team_id },
        "Slack is dropping this workspace's events for a minute, because there were more than 30,000 within an hour; remove the app from channels that do not need it",
      );
      return await ack();
    }
    if (body?.event === undefined) return await processEvent(received);
    let isHeard = true;
    const delivery: SlackDelivery = {
      comesAgain: retryNum < RETRIES,
      notHeard() {
        isHeard = false;
      },
    };
    await processEvent({
      ...received,
      async ack() {},
      customProperties: { ...customProperties, [DELIVERY]: delivery },
    });
    if (!isHeard) throw new NotHeardError('Could not store the request in an event.');
    await ack().catch((error: unknown) => {
      log.debug({ err: error }, 'acknowledged an event too late; Slack will send it again');
    });
  }

  return async (withinMs) => {
    const untilMs = performance.now() + withinMs;
    while (unacknowledged.size > 0 && performance.now() < untilMs) await pause(LOOK_AGAIN_MS);
  };
}

/** Resolves to false after the time limit. */
export async function heardInTime(heard: Promise<boolean>, withinMs: number): Promise<boolean> {
  const over = new AbortController();
  const { signal } = over;
  const late = pause(withinMs, false, { ref: false, signal }).catch(() => false);
  const isHeard = await Promise.race([heard, late]);
  over.abort();
  return isHeard;
}

/** Answers over HTTP if an event is not acknowledged. */
export const httpRefusals = (log: Logger) => ({
  async processEventErrorHandler(args: ReceiverProcessEventErrorHandlerArgs): Promise<boolean> {
    if (!(args.error instanceof NotHeardError)) {
      return await HTTPModuleFunctions.defaultProcessEventErrorHandler(args);
    }
    if (!args.response.headersSent) args.response.writeHead(503).end();
    return true;
  },
  unhandledRequestHandler({ response }: ReceiverUnhandledRequestHandlerArgs): void {
    log.warn('could not store a Slack event within three seconds; Slack will send it again');
    if (!response.headersSent) response.writeHead(503).end();
  },
});

/** False for an envelope that must not be acknowledged. */
export async function refuseEnvelope(
  args: SocketModeReceiverProcessEventErrorHandlerArgs,
): Promise<boolean> {
  if (args.error instanceof NotHeardError) return false;
  return await defaultProcessEventErrorHandler(args);
}
