import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { ErrorBody } from '../contracts/error.ts';
import { beginTurn, yieldToEventLoop } from '../contracts/event-loop.ts';
import { JSON_LIMITS, jsonFault, parseUntrustedJson } from '../contracts/parse-json.ts';
import { readRetryAfterMs } from '../contracts/rate-limit.ts';
import { ContractError, StatusError } from './errors.ts';

/** An answer whose body hasn't been read. */
export interface ServiceResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: AsyncIterable<Buffer> & {
    /** Closes the connection. */
    destroy(): unknown;
    /** Reads the body and drops it. */
    dump(): Promise<void>;
  };
  /** Method and address, for errors. */
  what: string;
  /** Prepares a foreign text for an error: short, without control characters and without our key. */
  clean: (text: string) => string;
}

/** Bytes of a whole answer; a list of ten thousand monitors is about 4 MB. */
const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;

/** A list of ten thousand monitors has some 250,000 values. */
const ANSWER_LIMITS = { ...JSON_LIMITS, values: 500_000 };

/** Bytes of an error answer that are read. */
const ERROR_LIMIT_BYTES = 64 * 1024;

/** Items of a long list that are checked at once. */
const BATCH_COUNT = 100;

/** Ignores unknown fields. Throws `ContractError` if it is anything else. */
export async function readJson<T>(answer: ServiceResponse, schema: z.ZodType<T>): Promise<T> {
  return checkShape(await readValue(answer), schema, answer);
}

/** Drops our additions to the contract if another service uses those names for something else. */
export function withoutOddAdditions<S extends z.ZodObject>(shape: S): S {
  const additions = Object.entries(shape.shape).filter(
    ([, field]) => field instanceof z.ZodOptional,
  );
  const forgiving = additions.map(([name, field]) => [name, field.catch(undefined)]);
  return shape.extend(Object.fromEntries(forgiving)) as S;
}

interface InvalidItem {
  /** Position in the list, from 0. */
  at: number;
  value: unknown;
  /** The names of the fields at fault. */
  fields: string[];
}

/**
 * Checks items in batches, so that ten thousand don't block the process. `repair` may turn an item of the wrong shape into a good one.
 * Throws `ContractError` if no item is good.
 */
export async function readLongList<K extends string, F extends Record<K, unknown[]>, T>(
  answer: ServiceResponse,
  options: {
    envelope: z.ZodType<F>;
    name: K;
    item: z.ZodType<T>;
    repair: (invalid: InvalidItem) => T | undefined;
  },
): Promise<Omit<F, K> & Record<K, T[]>> {
  const { envelope, name, item, repair } = options;
  const value = await readValue(answer);
  // Parsing the text can't be interrupted.
  await yieldToEventLoop();
  const { [name]: list, ...rest } = checkShape(value, envelope, answer);
  const items: T[] = [];
  // Checking the envelope took its time as well.
  await yieldToEventLoop();
  const turn = beginTurn();
  let firstWrong: ContractError | undefined;
  for (let from = 0; from < list.length; from += BATCH_COUNT) {
    if (turn.isOver()) await turn.next();
    const batch = list.slice(from, from + BATCH_COUNT);
    const result = z.array(item).safeParse(batch);
    if (result.success) {
      items.push(...result.data);
      continue;
    }
    firstWrong ??= wrongShape(result.error, answer, (at) => [name, from + Number(at)]);
    for (const [index, value] of batch.entries()) {
      const { data, error } = item.safeParse(value);
      const fields = error?.issues.map(({ path: [field] }) => String(field ?? name)) ?? [];
      const made = error ? repair({ at: from + index, value, fields: [...new Set(fields)] }) : data;
      if (made !== undefined) items.push(made);
    }
  }
  // A service that merely writes one field differently would have at least one good item.
  if (firstWrong && items.length === 0) throw firstWrong;
  return { ...rest, [name]: items } as Omit<F, K> & Record<K, T[]>;
}

async function readValue(answer: ServiceResponse): Promise<unknown> {
  refuseEncoding(answer);
  const bytes = await readBytes(answer, ANSWER_LIMIT_BYTES);
  if (!bytes) {
    throw new ContractError(`${answer.what} answered with more than ${ANSWER_LIMIT_BYTES} bytes.`);
  }
  return parseJson(bytes, answer);
}

/** Throws a `ContractError` that names the field at fault, never its value. */
export function checkShape<T>(value: unknown, schema: z.ZodType<T>, answer: ServiceResponse): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw wrongShape(result.error, answer);
}

/** `placeOf` maps the first step of a path, if only a part of the value was checked. */
function wrongShape(
  error: z.ZodError,
  answer: ServiceResponse,
  placeOf: (first: PropertyKey) => PropertyKey[] = (first) => [first],
): ContractError {
  const issues = error.issues.map((issue) => {
    const [first, ...rest] = issue.path;
    return first === undefined ? issue : { ...issue, path: [...placeOf(first), ...rest] };
  });
  return new ContractError(
    `${answer.what} answered with the wrong shape: ${answer.clean(z.prettifyError({ issues }))}`,
  );
}

/** Redirects aren't followed, because the key must not travel to an address nobody chose. */
export async function refusalOf(answer: ServiceResponse): Promise<StatusError | ContractError> {
  const { status, what, headers } = answer;
  if (status < 400) {
    answer.body.destroy();
    return new ContractError(
      status >= 300
        ? `${what} answered with a redirect (${status}), which is not followed. Use the final address.`
        : `${what} answered ${status}, which is not an answer.`,
    );
  }
  const details = await readErrorBody(answer);
  return new StatusError(details?.message || `${what} answered ${status}.`, {
    status,
    isQuote: Boolean(details?.message),
    code: details?.code,
    param: details?.param,
    retryAfterMs: readRetryAfterMs(headers),
  });
}

/** Returns the details of an error body, cleaned for people; `undefined` if it doesn't follow the contracts. */
export function errorDetails(
  body: unknown,
  { clean }: ServiceResponse,
): { message: string; code: string | undefined; param: string | undefined } | undefined {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success) return undefined;
  const { message, code, param } = parsed.data.error;
  return { message: clean(message), code: code ?? undefined, param: param ?? undefined };
}

/** Refuses a compressed answer: none was requested, and a small one can hide gigabytes. */
export function refuseEncoding({ headers, what, body }: ServiceResponse): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return;
  body.destroy();
  throw new ContractError(`${what} answered in an encoding that was not requested.`);
}

async function readErrorBody(answer: ServiceResponse) {
  const bytes = await readBytes(answer, ERROR_LIMIT_BYTES);
  if (!bytes) return undefined;
  try {
    return errorDetails(parseUntrustedJson(bytes), answer);
  } catch {
    // Probably a proxy's page; the status says enough.
    return undefined;
  }
}

/** `undefined` as soon as it is longer than the limit. */
async function readBytes(
  { body }: ServiceResponse,
  limitBytes: number,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > limitBytes) {
      body.destroy();
      return undefined;
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function parseJson(bytes: Buffer, { what, headers, clean }: ServiceResponse): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return parseUntrustedJson(text, ANSWER_LIMITS);
  } catch (cause) {
    const type = clean(String(headers['content-type'] ?? 'no content type'));
    throw new ContractError(`${what} answered with something that ${jsonFault(cause)} (${type}).`, {
      cause,
    });
  }
}
