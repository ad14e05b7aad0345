import { Agent, request } from 'undici';
import { z } from 'zod';
import { oneLine } from '../contracts/one-line.ts';
import { JSON_LIMITS, parseUntrustedJson } from '../contracts/parse-json.ts';
import { HIDDEN } from '../contracts/secret-values.ts';
import { ContractError, StatusError } from './errors.ts';
import { createCallLimit, networkError } from './service-connection.ts';

/** Creates and ends silences of an Alertmanager, API v2. Source: its `api/v2/openapi.yaml`. */
export type AlertmanagerClient = ReturnType<typeof createAlertmanagerClient>;

interface WantedSilence {
  /** All labels of the alerts to silence, each matched exactly; `HIDDEN` matches any value. */
  labels: Readonly<Record<string, string>>;
  untilMs: number;
  by: string;
  /** Finds the silence again later. */
  comment: string;
}

const CreatedSilence = z.object({ silenceID: z.string().min(1).max(200) });
const SilenceList = z.array(
  z.object({ id: z.string(), comment: z.string(), status: z.object({ state: z.string() }) }),
);

const CALL_MS = 10_000;
const CONNECT_MS = 5_000;

/** Bytes of an answer; a thousand silences are about a megabyte. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

const ANSWER_LIMITS = { ...JSON_LIMITS, values: 200_000 };

/** Characters of Alertmanager's own message that an error may quote. */
const MAX_QUOTE_LENGTH = 200;

/** Longest label value to filter silences by, because it becomes part of a URL. */
const MAX_FILTER_LENGTH = 500;

/**
 * `url` may hold a user and password. Calls throw `NetworkError`, `TimeoutError`, `StatusError` or `ContractError`. None is repeated,
 * and no redirect is followed.
 */
export function createAlertmanagerClient(url: string) {
  const { username, password, origin, pathname } = new URL(url);
  const base = `${origin}${pathname.replace(/\/+$/, '')}/api/v2`;
  const agent = new Agent({ connect: { timeout: CONNECT_MS } });
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization =
    credentials === ':'
      ? {}
      : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };

  async function call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { body, signal }: { body?: unknown; signal: AbortSignal },
  ): Promise<string> {
    const what = `${method} ${base}${path.split('?')[0]}`;
    const limit = createCallLimit(CALL_MS, what, signal);
    try {
      const answer = await request(base + path, {
        method,
        dispatcher: agent,
        signal: limit.signal,
        headers: {
          ...authorization,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const text = await readText(answer.body, what);
      if (answer.statusCode >= 200 && answer.statusCode <= 299) return text;
      const status = answer.statusCode;
      throw new StatusError(messageIn(text) || `It answered ${status}.`, { status });
    } catch (error) {
      if (limit.signal.aborted) throw limit.signal.reason;
      if (error instanceof StatusError || error instanceof ContractError) throw error;
      throw networkError(what, error);
    } finally {
      limit.release();
    }
  }

  return {
    /** Creates a silence that begins now; returns its id. */
    async silence(wanted: WantedSilence, signal: AbortSignal): Promise<string> {
      const body = {
        matchers: Object.entries(wanted.labels).map(([name, value]) =>
          value === HIDDEN
            ? { name, value: '(?s:.+)', isRegex: true, isEqual: true }
            : { name, value, isRegex: false, isEqual: true },
        ),
        startsAt: new Date().toISOString(),
        endsAt: new Date(wanted.untilMs).toISOString(),
        createdBy: wanted.by,
        comment: wanted.comment,
      };
      return shaped(CreatedSilence, await call('POST', '/silences', { body, signal })).silenceID;
    },
    /** Returns the ids of the silences with this comment that haven't ended. */
    async silencesOf(
      { labels, comment }: Pick<WantedSilence, 'labels' | 'comment'>,
      signal: AbortSignal,
    ): Promise<string[]> {
      const filter = Object.entries(labels).find(
        ([, value]) => value !== HIDDEN && value.length <= MAX_FILTER_LENGTH,
      );
      const query = filter
        ? `?filter=${encodeURIComponent(`${filter[0]}=${JSON.stringify(filter[1])}`)}`
        : '';
      const all = shaped(SilenceList, await call('GET', `/silences${query}`, { signal }));
      return all.flatMap((one) =>
        one.comment === comment && one.status.state !== 'expired' ? [one.id] : [],
      );
    },
    /** Does nothing if it has ended or is unknown. */
    async expire(id: string, signal: AbortSignal): Promise<void> {
      try {
        await call('DELETE', `/silence/${encodeURIComponent(id)}`, { signal });
      } catch (error) {
        if (!hasEnded(error)) throw error;
      }
    },
    /** Ends all calls in progress. */
    close: () => agent.destroy(),
  };
}

/** Versions differ in how they report that there is nothing to end. */
const hasEnded = (error: unknown) =>
  error instanceof StatusError &&
  (error.status === 404 ||
    (error.status === 500 && /already expired|not found/i.test(error.message)));

async function readText(body: AsyncIterable<Buffer> & { destroy(): unknown }, what: string) {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > MAX_ANSWER_BYTES) {
      body.destroy();
      throw new ContractError(`${what} answered with more than ${MAX_ANSWER_BYTES} bytes.`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function shaped<T>(schema: z.ZodType<T>, text: string): T {
  try {
    const result = schema.safeParse(parseUntrustedJson(text, ANSWER_LIMITS));
    if (result.success) return result.data;
  } catch {
    // Text that isn't JSON gets the same error.
  }
  throw new ContractError("It answered with something that isn't an Alertmanager response.");
}

/** A text in JSON, an object with a message, or a plain text. */
function messageIn(text: string): string {
  let value: unknown = text;
  try {
    value = parseUntrustedJson(text);
  } catch {
    // A plain text is the message itself.
  }
  const { message = value } = (typeof value === 'object' && value !== null ? value : {}) as {
    message?: unknown;
  };
  return typeof message === 'string' && !message.startsWith('<')
    ? oneLine(message.slice(0, MAX_QUOTE_LENGTH))
    : '';
}
