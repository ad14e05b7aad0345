import type { App, SocketModeReceiver } from '@slack/bolt';
import type { Logger } from 'pino';

type ReadFrame = (data: unknown, isBinary: boolean) => Promise<void>;

/**
 * Keeps a frame that is none of those documented from ending the program: the client reads `payload.event.type` whatever
 * came, and what it throws nobody catches (@slack/socket-mode 3.1.0, `onWebSocketMessage`).
 */
export function guardSocket(client: SocketModeReceiver['client'], log: Logger): void {
  const readers = client.listeners('ws_message') as ReadFrame[];
  client.removeAllListeners('ws_message');
  client.on('ws_message', (data: unknown, isBinary: boolean) => {
    for (const read of readers) {
      read(isBinary ? data : withEvent(String(data)), isBinary).catch((error: unknown) =>
        log.warn({ err: error }, 'Slack sent something that cannot be read; it is left out'),
      );
    }
  });
}

const RATE_LIMITED = 'app_rate_limited';

/** The notice that events are left out is the one payload of the Events API without an event: it gets one, to be acknowledged. */
function withEvent(frame: string): string {
  if (!frame.includes(RATE_LIMITED)) return frame;
  try {
    const { payload, ...envelope } = JSON.parse(frame);
    if (payload?.type !== RATE_LIMITED) return frame;
    return JSON.stringify({ ...envelope, payload: { ...payload, event: { type: RATE_LIMITED } } });
  } catch {
    // Left to the client, which says that it is no JSON.
    return frame;
  }
}

/**
 * Acknowledges the notice that Slack leaves out events, which Bolt knows nothing of, and tells whoever runs the program.
 * Source: Slack docs, "Events API", "Rate limiting": more than 30,000 events in an hour of one workspace.
 */
export function acknowledgeRateLimits(app: App, log: Logger): void {
  const processEvent = app.processEvent.bind(app);
  app.processEvent = async (event) => {
    if (event.body?.type !== RATE_LIMITED) return await processEvent(event);
    log.warn(
      { teamId: event.body.team_id },
      'Slack leaves out what is said in this workspace for a minute: there were more than 30,000 events within an hour. Remove the app from channels that do not need it.',
    );
    await event.ack();
  };
}
