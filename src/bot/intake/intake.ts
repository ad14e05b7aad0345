import type { Logger } from 'pino';
import { ErrorCode } from '../../contracts/error.ts';
import type { Channels } from '../channels/channels.ts';
import type { WatchState } from '../incidents/watch-state.ts';
import { placeKey } from '../shared/place.ts';
import { counted } from '../shared/text-format.ts';
import {
  createApplyQueue,
  OverloadError,
  RemovedIntakeError,
  TooManyActiveError,
} from './apply-queue.ts';
import type { Intake, Intakes } from './intakes.ts';
import { DeliveryError, parseDeliveryInTurns } from './parse-delivery.ts';
import { readBody } from './read-body.ts';
import { isRecord } from './read-payload.ts';
import { INTAKE_KINDS, type IntakeKind, type ReportedAlerts } from './reported-alert.ts';
import { createWrongTokens } from './wrong-tokens.ts';

/** What a sender is answered. */
export interface IntakeAnswer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** Who sends, as far as it is known before a body is read. */
export interface Sender {
  /** The kind that stands in the path. */
  kind: string;
  token: string | undefined;
  /** Where the request comes from. */
  address: string;
}

/** Takes alerts of other systems in. */
export type AlertIntake = ReturnType<typeof createIntake>;

const AGAIN_SECONDS = 5;

/** Room for active alerts comes when others are over. */
const ROOM_AGAIN_SECONDS = 60;

/** What is refused because of too much is logged so often at most. */
const LOG_EVERY_MS = 60_000;

/** `onChange` is called when there may be something to tell, with everything stored. */
export function createIntake(options: {
  intakes: Intakes;
  state: Pick<WatchState, 'current' | 'update'>;
  channels: Pick<Channels, 'settings'>;
  nowMs: () => number;
  onChange: () => void;
  log: Logger;
}) {
  const { intakes, nowMs, log } = options;
  const queue = createApplyQueue(options);
  const wrongTokens = createWrongTokens();
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  let isStopping = false;

  /** Whose token it is; a refusal for one that is nobody's. Rejects with what the store says. */
  async function intakeOf(
    { kind, token, address }: Sender,
    isInBody = false,
  ): Promise<Intake | IntakeAnswer> {
    if (!isKind(kind)) {
      return refusal(
        kind,
        404,
        ErrorCode.notFound,
        `Unknown kind of intake. The kinds are ${INTAKE_KINDS.join(', ')}.`,
      );
    }
    if (token === undefined) return refusal(kind, 401, ErrorCode.missingKey, NO_TOKEN);
    // Whoever sends many wrong ones is not worth a question to the store; right ones are known without.
    const intake = await intakes.byToken(token, { asks: !wrongTokens.areMany(address) });
    if (!intake) {
      wrongTokens.note(address);
      return refusal(kind, 401, ErrorCode.invalidKey, isInBody ? WRONG_ROUTING_KEY : WRONG_TOKEN);
    }
    if (intake.kind === kind) return intake;
    return refusal(
      kind,
      400,
      ErrorCode.invalidValue,
      `This token belongs to an intake for ${intake.kind}, but this address accepts ${kind}. Send to /hooks/${intake.kind}, or create an intake of this kind: /monitor intake add ${kind}.`,
    );
  }

  /** Stores what came in. */
  async function take(intake: Intake, { alerts, truncated }: ReportedAlerts) {
    const { id, name, repeatMs } = intake;
    await queue.apply({
      intake: {
        id,
        name,
        place: placeKey(intake.place),
        ...(repeatMs !== undefined && { repeatMs }),
      },
      ...{ alerts, truncated },
    });
    intakes.heard(id, nowMs()).catch((error: unknown) => {
      log.warn({ err: error, intake: id }, 'could not store when an intake was last used');
    });
  }

  async function answerTo(intake: Intake, body: unknown): Promise<IntakeAnswer> {
    const said = await parseDeliveryInTurns(intake.kind, body, nowMs());
    await take(intake, said);
    if (intake.kind === 'pagerduty') {
      const key = isRecord(body) ? body.dedup_key : undefined;
      const [first] = said.alerts;
      const dedup_key = typeof key === 'string' && key !== '' ? key : first?.key;
      return { status: 202, body: { status: 'success', message: 'Event processed', dedup_key } };
    }
    const { note: message, alerts } = said;
    return { status: 200, body: { ok: true, alerts: alerts.length, ...(message && { message }) } };
  }

  /** Answers what goes wrong in words for whoever set up the sender. */
  async function answering(
    kind: string,
    answer: () => Promise<IntakeAnswer>,
  ): Promise<IntakeAnswer> {
    if (isStopping) return unavailable(kind, 'Askwatch is stopping.');
    try {
      return await answer();
    } catch (error) {
      if (error instanceof DeliveryError) {
        return refusal(kind, 400, ErrorCode.invalidValue, error.message);
      }
      if (error instanceof RemovedIntakeError) {
        return refusal(kind, 401, ErrorCode.invalidKey, WRONG_TOKEN);
      }
      const { seconds, why } = delayOf(error);
      if (performance.now() - loggedAtMs >= LOG_EVERY_MS) {
        loggedAtMs = performance.now();
        log.error({ err: error }, 'could not store received alerts');
      }
      return unavailable(kind, why, seconds);
    }
  }

  return {
    /** Looks at who sends before a body is read: an intake, or what a sender is answered at once. */
    async admit(sender: Sender): Promise<Intake | IntakeAnswer> {
      let admitted: Intake | undefined;
      const refused = await answering(sender.kind, async () => {
        const found = await intakeOf(sender);
        if ('status' in found) return found;
        admitted = found;
        return NOTHING;
      });
      return refused === NOTHING && admitted ? admitted : refused;
    },
    /** Takes a delivery for an intake that `admit` gave; resolves once it is stored. Never rejects. */
    receive: (intake: Intake, bytes: Uint8Array): Promise<IntakeAnswer> =>
      answering(intake.kind, async () => await answerTo(intake, readBody(bytes))),
    /** Takes an event in PagerDuty's form, whose token stands in it. Never rejects. */
    receiveEvent: (
      bytes: Uint8Array,
      { address }: Pick<Sender, 'address'>,
    ): Promise<IntakeAnswer> =>
      answering('pagerduty', async () => {
        const body = readBody(bytes);
        const key = isRecord(body) ? body.routing_key : undefined;
        const token = typeof key === 'string' ? key : undefined;
        const found = await intakeOf({ kind: 'pagerduty', token, address }, true);
        return 'status' in found ? found : await answerTo(found, body);
      }),
    /** Takes alerts as if an intake had sent them; rejects as the store does. */
    take,
    /** Resolves when what came in is stored, or refused; takes nothing more. */
    async stop() {
      isStopping = true;
      await queue.idle();
    },
  };
}

const NOTHING: IntakeAnswer = { status: 200, body: undefined };

const NO_TOKEN =
  'An intake token is required, in the path (/hooks/alertmanager/<token>) or in the Authorization header. /monitor intake add creates one.';
const WRONG_TOKEN =
  'Unknown or removed intake token. /monitor intake list shows the intakes of a channel, and /monitor intake add creates one.';
const WRONG_ROUTING_KEY =
  'This routing key is an unknown or removed intake token. /monitor intake add pagerduty creates one.';

const isKind = (kind: string): kind is IntakeKind =>
  (INTAKE_KINDS as readonly string[]).includes(kind);

/** A refusal in the words of whoever sends. */
function refusal(
  kind: string,
  status: number,
  code: string,
  message: string,
  headers?: Record<string, string>,
): IntakeAnswer {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  const error = { message, type, param: null, code };
  const body =
    kind === 'pagerduty'
      ? { status: status >= 500 ? 'error' : 'invalid event', message, errors: [message], error }
      : { error };
  const challenge = status === 401 && { 'www-authenticate': 'Bearer' };
  return { status, body, headers: { ...headers, ...challenge } };
}

const unavailable = (kind: string, why: string, seconds = AGAIN_SECONDS): IntakeAnswer =>
  refusal(
    kind,
    503,
    ErrorCode.unavailable,
    `${why} Wait ${seconds} s (Retry-After) and send it again.`,
    { 'retry-after': String(seconds) },
  );

/** Why a delivery was not stored, and when its sender may try again. */
function delayOf(error: unknown): { why: string; seconds: number } {
  if (error instanceof OverloadError) {
    return {
      why: 'Too many alerts from this intake are waiting to be stored.',
      seconds: AGAIN_SECONDS,
    };
  }
  if (error instanceof TooManyActiveError) {
    const why = `${counted(error.count, 'alert')} could not be stored because too many are active.`;
    return { why, seconds: ROOM_AGAIN_SECONDS };
  }
  return { why: 'Alerts cannot be stored right now.', seconds: AGAIN_SECONDS };
}
