import { expect, test } from 'vitest';
import { CommandError } from '../../src/bot/shared/errors.ts';
import { StatusError } from '../../src/clients/errors.ts';
import type { MonitoringClient } from '../../src/clients/monitoring.ts';
import { doFor, Refusal } from '../../src/mcp/caller.ts';
import { recordingLog } from '../helpers/recording-log.ts';

/** The caller's error and the log lines when a tool throws. */
async function told(error: unknown, gone = new AbortController()) {
  const { log, lines } = recordingLog();
  const key = { id: 'AbCdEf12', name: 'laptop', createdAtMs: 0 };
  const monitoring = {} as MonitoringClient;
  const caller = { key, monitoring, incidents: undefined, requestId: 'request-7', log };
  const work = doFor(caller, gone.signal, async () => {
    throw error;
  });
  const refusal = await work.catch((thrown: unknown) => thrown);
  expect(refusal).toBeInstanceOf(Refusal);
  return { sentence: (refusal as Refusal).message, lines };
}

test('What nobody expected is told to the log alone, under the id that the caller is given', async () => {
  const { sentence, lines } = await told(new TypeError('secret of /srv/askwatch/data'));
  expect(sentence).toBe(
    'Something went wrong in Askwatch. Try again. Its log has the details under request-7.',
  );
  expect(lines).toMatchObject([{ reqId: 'request-7', err: { message: /secret/ } }]);
});

test.each([
  [new CommandError('Say which: /monitor list.'), 'Say which: list_monitors.'],
  [new StatusError('This key was just revoked.', { status: 401 }), /just revoked/],
  [new StatusError('This key can only read.', { status: 403 }), /can only read/],
  [
    new StatusError('More than 120.', { status: 429, retryAfterMs: 42_000 }),
    /Try again in 42 seconds\./,
  ],
  [new StatusError('', { status: 503 }), /answered with an error \(503\)\. Try again/],
])('%s is told as it is, and is no matter of the log', async (error, says) => {
  const { sentence, lines } = await told(error);
  expect(sentence).toMatch(says);
  expect(lines).toEqual([]);
});

test('an aborted call is not logged', async () => {
  const gone = new AbortController();
  gone.abort();
  expect((await told(new Error('aborted'), gone)).lines).toEqual([]);
});
