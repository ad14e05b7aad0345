import { ErrorCode } from '../../contracts/error.ts';
import { INTAKE_KINDS, type IntakeKind } from '../../contracts/intake-kinds.ts';
import { serviceOf } from '../commands/open-features.ts';
import { placeKey } from '../shared/place.ts';
import { counted } from '../shared/text-format.ts';
import {
  ApplyQueue,
  type ApplyQueueOptions,
  OverloadError,
  RemovedIntakeError,
  TooManyActiveError,
} from './apply-queue.ts';
import type { Intake, Intakes } from './intakes.ts';
import { parseDelivery } from './parse-delivery.ts';
import { readBody } from './read-body.ts';
import { isRecord, PayloadError } from './read-payload.ts';
import type { ReportedAlerts } from './reported-alert.ts';
import { createWrongTokens } from './wrong-tokens.ts';

export interface IntakeAnswer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** The sender, as far as it is known before the body is read. */
export interface AlertSender {
  /** From the path. */
  kind: string;
  token: string | undefined;
  /** IP address of the request. */
  address: string;
}

const AGAIN_SECONDS = 5;

/** Room comes when other alerts end. */
const ROOM_AGAIN_SECONDS = 60;

/** Overload is logged at most this often. */
const LOG_EVERY_MS = 60_000;

interface IntakeOptions extends ApplyQueueOptions {
  intakes: Intakes;
}

/** For commands and routes. */
export const intakeOf = serviceOf<{ intakes: Intakes; intake: AlertIntake }>('intake');

export const createIntake = (options: IntakeOptions) => new AlertIntake(options);

/** Receives alerts from other systems. Requests with a valid token are answered once their alerts are stored. */
export class AlertIntake {
  readonly #options: IntakeOptions;
  readonly #queue: ApplyQueue;
  readonly #wrongTokens = createWrongTokens();
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #isStopping = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#queue = new ApplyQueue(options);
  }

  /** Checks the sender before the body is read. Resolves to its intake or to a refusal. */
  async admit(sender: AlertSender): Promise<Intake | IntakeAnswer> {
    let admitted: Intake | undefined;
    const refused = await this.#answer(sender.kind, async () => {
      const result = await this.#findIntake(sender);
      if ('status' in result) return result;
      admitted = result;
      return NOTHING;
    });
    return refused === NOTHING && admitted ? admitted : refused;
  }

  /** Accepts a delivery for an admitted sender. Resolves once it is stored. Never rejects. */
  async receive(intake: Intake, bytes: Uint8Array): Promise<IntakeAnswer> {
    return await this.#answer(intake.kind, () => this.#accept(intake, readBody(bytes)));
  }

  /** Accepts a PagerDuty event, which contains its token. Never rejects. */
  async receiveEvent(
    bytes: Uint8Array,
    { address }: Pick<AlertSender, 'address'>,
  ): Promise<IntakeAnswer> {
    return await this.#answer('pagerduty', async () => {
      const body = readBody(bytes);
      const key = isRecord(body) ? body.routing_key : undefined;
      const token = typeof key === 'string' ? key : undefined;
      const result = await this.#findIntake({ kind: 'pagerduty', token, address }, true);
      return 'status' in result ? result : await this.#accept(result, body);
    });
  }

  /** Accepts alerts as if the intake's sender had sent them. Rejects if the store fails. */
  async take(intake: Intake, { alerts, truncated }: ReportedAlerts): Promise<void> {
    const { intakes, nowMs, log } = this.#options;
    const { id, name, repeatMs } = intake;
    const place = placeKey(intake.place);
    await this.#queue.apply({ intake: { id, name, place, repeatMs }, alerts, truncated });
    intakes.noteDelivery(id, nowMs()).catch((error: unknown) => {
      log.warn({ err: error, intake: id }, 'could not store when an intake was last used');
    });
  }

  /** Accepts nothing more, and waits for deliveries under way. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#queue.idle();
  }

  /** Finds the intake of a token, or returns a refusal. Rejects if the store fails. */
  async #findIntake(sender: AlertSender, isInBody = false): Promise<Intake | IntakeAnswer> {
    const { kind, token, address } = sender;
    if (!isKind(kind)) {
      const kinds = INTAKE_KINDS.join(', ');
      const message = `Unknown kind of intake. The kinds are ${kinds}.`;
      return refusal(kind, 404, ErrorCode.notFound, message);
    }
    if (token === undefined) return refusal(kind, 401, ErrorCode.missingKey, NO_TOKEN);
    // An address that sent many wrong tokens doesn't cause requests to the store. Valid tokens are in memory.
    const asks = !this.#wrongTokens.areMany(address);
    const intake = await this.#options.intakes.byToken(token, { asks });
    if (!intake) {
      this.#wrongTokens.note(address);
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

  async #accept(intake: Intake, body: unknown): Promise<IntakeAnswer> {
    const delivery = await parseDelivery(intake.kind, body, this.#options.nowMs());
    await this.take(intake, delivery);
    if (intake.kind === 'pagerduty') {
      const key = isRecord(body) ? body.dedup_key : undefined;
      const [first] = delivery.alerts;
      const dedup_key = typeof key === 'string' && key !== '' ? key : first?.key;
      return { status: 202, body: { status: 'success', message: 'Event processed', dedup_key } };
    }
    const { note: message, alerts } = delivery;
    return { status: 200, body: { ok: true, alerts: alerts.length, ...(message && { message }) } };
  }

  /** Turns errors into answers for the person who set up the sender. */
  async #answer(kind: string, answer: () => Promise<IntakeAnswer>): Promise<IntakeAnswer> {
    if (this.#isStopping) return unavailable(kind, 'Askwatch is stopping.');
    try {
      return await answer();
    } catch (error) {
      if (error instanceof PayloadError) {
        return refusal(kind, 400, ErrorCode.invalidValue, error.message);
      }
      if (error instanceof RemovedIntakeError) {
        return refusal(kind, 401, ErrorCode.invalidKey, WRONG_TOKEN);
      }
      const { seconds, why } = delayOf(error);
      if (performance.now() - this.#loggedAtMs >= LOG_EVERY_MS) {
        this.#loggedAtMs = performance.now();
        this.#options.log.error({ err: error }, 'could not store received alerts');
      }
      return unavailable(kind, why, seconds);
    }
  }
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
