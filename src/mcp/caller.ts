import type { Logger } from 'pino';
import { CommandError } from '../bot/shared/errors.ts';
import { explainError } from '../bot/shared/explain-error.ts';
import type { WriteContext } from '../bot/tools/tool.ts';
import { StatusError } from '../clients/errors.ts';
import type { MonitoringClient } from '../clients/monitoring.ts';
import type { KeyInfo } from '../http/keys.ts';

/** Open incidents, as far as a caller outside of chat may act on them. */
export type CallerIncidents = Pick<WriteContext['incidents'], 'openOf' | 'mark'>;

/** The sender of one request. */
export interface Caller {
  key: KeyInfo;
  /** Asks with their own key, so that its limits and rights hold. */
  monitoring: MonitoringClient;
  incidents: CallerIncidents | undefined;
  /** Under which the log has what went wrong. */
  requestId: string;
  log: Logger;
}

/** Time limit of one call; a single check may take 20 s. */
const MAX_MS = 30_000;

/** Here is no channel, and tools that need one are not offered. */
const nowhere = () => {
  throw new Error('A tool asked for a channel, but there is none over MCP.');
};

const NO_CHANNEL = {
  channels: { describe: nowhere, add: nowhere },
  usageLog: { since: nowhere },
  alertPlaces: [],
};

const notYet = () => {
  throw new CommandError('Askwatch is still starting. Try again in a few seconds.');
};

function contextOf(caller: Caller, signal: AbortSignal): WriteContext {
  const { key, monitoring, incidents, requestId, log } = caller;
  const { openOf, mark } = incidents ?? { openOf: notYet, mark: notYet };
  return {
    ...NO_CHANNEL,
    incidents: { openOf, mark, note: nowhere },
    monitoring,
    person: { name: key.name },
    idempotencyKey: requestId,
    nowMs: Date.now(),
    signal,
    log,
  };
}

/** An error with a message for the caller: what happened and what to do. */
export class Refusal extends Error {
  override name = 'Refusal' as const;
}

/** Does something for a caller within the time that there is. Throws a `Refusal`, whatever went wrong. */
export async function doFor<T>(
  caller: Caller,
  gone: AbortSignal,
  work: (context: WriteContext) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(MAX_MS);
  try {
    return await work(contextOf(caller, AbortSignal.any([gone, limit])));
  } catch (error) {
    if (gone.aborted) throw new Refusal('The client is gone.');
    if (limit.aborted) throw new Refusal(`It took longer than ${MAX_MS / 1000} s. Try again.`);
    throw new Refusal(sentenceOf(error, caller), { cause: error });
  }
}

function sentenceOf(error: unknown, { requestId, log }: Caller): string {
  if (error instanceof Refusal) return error.message;
  // Tools mention chat commands in errors; the caller has only tools.
  if (error instanceof CommandError)
    return error.message.replaceAll('/monitor list', 'list_monitors');
  // It is the caller's own key that is refused, and the service says why.
  if (error instanceof StatusError && [401, 403].includes(error.status)) return error.message;
  const explained = explainError(error, 'monitoring service');
  if (explained !== undefined) return explained;
  log.error({ err: error, reqId: requestId }, 'an MCP call failed');
  return `Something went wrong in Askwatch. Try again. Its log has the details under ${requestId}.`;
}
