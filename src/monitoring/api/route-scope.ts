import type { IncomingMessage } from 'node:http';
import { ErrorCode } from '../../contracts/error.ts';
import { MONITORING_PREFIX, MonitoringPath } from '../../contracts/monitoring.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { KeyInfo } from '../../http/keys.ts';
import type { AddressFor } from '../../http/public-address.ts';
import type { HttpReply, HttpRequest, HttpServer } from '../../http/server-types.ts';
import type { CheckTypes } from '../checks/registry.ts';
import type { MonitorHistory } from '../history/history.ts';
import { declaredInFile } from '../monitors/managed-by.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import type { CheckRunner } from '../scheduler/check-runner.ts';
import type { MonitorState } from '../state/state.ts';
import type { ServiceClock } from '../time/clock.ts';
import type { Admit } from './admission.ts';

export interface RouteTools {
  monitors: Monitors;
  types: CheckTypes;
  admit: Admit;
  runner: CheckRunner;
  history: MonitorHistory;
  clock: ServiceClock;
  /** A file is followed: only it changes the monitors that it declares. */
  followsFile: boolean;
  /** This service's address for clients. */
  addressFor: AddressFor;
  /** The key of a request; only for requests that need one. */
  keyOf: (request: HttpRequest) => KeyInfo;
}

/** A path of the contract without the prefix of the scope. */
export const within = (path: string) => path.slice(MONITORING_PREFIX.length);

/** The list contains the monitor, if the request doesn't filter by status. */
export const isListed = ({ status }: MonitorState, withPaused: boolean) =>
  withPaused || status !== 'PAUSED';

export function findMonitor(monitors: Monitors, id: string): WatchedMonitor {
  const monitor = monitors.get(id);
  if (monitor === undefined) throw noSuchMonitor();
  return monitor;
}

/** Finds the monitor to change. Throws a 409 if a file declares it. If no file is followed any more, releases the monitor. */
export async function findChangeableMonitor(
  { monitors, followsFile }: Pick<RouteTools, 'monitors' | 'followsFile'>,
  id: string,
): Promise<WatchedMonitor> {
  const monitor = findMonitor(monitors, id);
  if (monitor.managedBy === undefined) return monitor;
  if (followsFile) throw declaredInFile(monitor.managedBy);
  const released = await failAsUnchanged(monitors.edit(id, () => ({ managedBy: null })));
  if (released === undefined) throw noSuchMonitor();
  return released;
}

export const noSuchMonitor = () =>
  notFound(
    `No monitor has this ID. GET ${MonitoringPath.monitors}?include_paused=true lists all monitors.`,
  );

/** A full disk or an unreachable database may work again by then. */
const RETRY_AFTER_SECONDS = 5;

/** Turns a failure of the store into a 503. */
export async function failAsUnavailable<T>(work: Promise<T>, sentence: string): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
    throw new HttpError(503, ErrorCode.unavailable, sentence, { cause, headers });
  }
}

export const failAsUnchanged = <T>(work: Promise<T>) =>
  failAsUnavailable(work, 'The change could not be stored, so nothing has changed. Try again.');

/** Sends a value, or JSON in a buffer, without the route's serializer, which would validate tens of thousands of numbers at once. */
export function sendJson(reply: HttpReply, value: object): HttpReply {
  const json = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value));
  return reply.type('application/json; charset=utf-8').send(json);
}

/** Refuses requests with a body before reading it. */
export function refuseBodies(scope: HttpServer): void {
  ignoreBodies(scope);
  scope.addHook('onRequest', async ({ raw }) => {
    if (!hasBody(raw)) return;
    throw new HttpError(400, ErrorCode.invalidRequest, 'This route accepts no body. Leave it out.');
  });
}

/** The answer waits for this much of an ignored body. */
const AWAITED_BYTES = 10 * 1024;

/**
 * Accepts and ignores bodies of any size and type, because a job may send its log along with its ping. Waits for the beginning
 * only, and drops the rest as it comes.
 */
export function ignoreBodies(scope: HttpServer): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, body, done) => {
    let awaitedBytes = AWAITED_BYTES;
    const end = () => {
      body.off('end', end).off('error', done);
      // Later errors don't concern the answer.
      body.on('error', () => {});
      done(null);
    };
    body.once('end', end).once('error', done);
    body.on('data', (chunk: Buffer) => {
      if (awaitedBytes <= 0) return;
      awaitedBytes -= chunk.length;
      if (awaitedBytes <= 0) end();
    });
  });
}

/** Source: RFC 9112 §6.3. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
