import type { IncomingMessage } from 'node:http';
import { ErrorCode } from '../../contracts/error.ts';
import { MONITORING_PREFIX, MonitoringPath } from '../../contracts/monitoring.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { KeyInfo } from '../../http/keys.ts';
import type { AddressFor } from '../../http/public-address.ts';
import type { HttpReply, HttpRequest, HttpServer } from '../../http/server-types.ts';
import type { CheckTypes } from '../checks/registry.ts';
import type { History } from '../history/history.ts';
import { declaredInFile } from '../monitors/managed-by.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import type { CheckRunner } from '../scheduler/check-runner.ts';
import type { MonitorState } from '../state/state.ts';
import type { Clock } from '../time/clock.ts';
import type { Admit } from './admission.ts';

/** What the routes work with. */
export interface RouteTools {
  monitors: Monitors;
  types: CheckTypes;
  admit: Admit;
  runner: CheckRunner;
  history: History;
  clock: Clock;
  /** Whether monitors that a file declares are kept as it says: then nobody else changes them. */
  followsFile: boolean;
  /** Where clients reach this service. */
  addressFor: AddressFor;
  /** The key that a request came with; only for requests that need one. */
  keyOf: (request: HttpRequest) => KeyInfo;
}

/** A path of the contract as a route of the scope, which has its beginning already. */
export const within = (path: string) => path.slice(MONITORING_PREFIX.length);

/** Whether a monitor stands in a list that is not asked for certain statuses. */
export const isListed = ({ status }: MonitorState, withPaused: boolean) =>
  withPaused || status !== 'PAUSED';

/** The monitor that a path names. Throws the 404. */
export function monitorNamed(monitors: Monitors, id: string): WatchedMonitor {
  const monitor = monitors.get(id);
  if (monitor === undefined) throw noSuchMonitor();
  return monitor;
}

/**
 * The same where it is to be changed. Throws the 409 for one that a file declares; where no file is followed any more, it is from now
 * on as all others are.
 */
export async function changeableMonitor(
  { monitors, followsFile }: Pick<RouteTools, 'monitors' | 'followsFile'>,
  id: string,
): Promise<WatchedMonitor> {
  const monitor = monitorNamed(monitors, id);
  if (monitor.managedBy === undefined) return monitor;
  if (followsFile) throw declaredInFile(monitor.managedBy);
  const released = await orUnchanged(monitors.edit(id, () => ({ managedBy: null })));
  if (released === undefined) throw noSuchMonitor();
  return released;
}

/** The 404 for a monitor that is not there. */
export const noSuchMonitor = () =>
  notFound(
    `No monitor has this ID. GET ${MonitoringPath.monitors}?include_paused=true lists all monitors.`,
  );

/** A full disk or a database that is away may be back by then. */
const AGAIN_SECONDS = 5;

/** What a failing store means to a caller: nothing happened, and trying again may help. */
export async function orUnavailable<T>(work: Promise<T>, sentence: string): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    const headers = { 'retry-after': String(AGAIN_SECONDS) };
    throw new HttpError(503, ErrorCode.unavailable, sentence, { cause, headers });
  }
}

/** The same of a change. */
export const orUnchanged = <T>(work: Promise<T>) =>
  orUnavailable(work, 'The change could not be stored, so nothing has changed. Try again.');

/** Sends JSON that was checked and written piece by piece; the serializer of the route would do it whole. */
export function sendWritten(reply: HttpReply, json: Buffer): HttpReply {
  return reply.type('application/json; charset=utf-8').send(json);
}

/** No route of the scope reads a body: one that is sent is refused before it is read. */
export function takeNoBody(scope: HttpServer): void {
  readNoBody(scope);
  scope.addHook('onRequest', async ({ raw }) => {
    if (!hasBody(raw)) return;
    throw new HttpError(400, ErrorCode.invalidRequest, 'This route accepts no body. Leave it out.');
  });
}

/** How much of a body that nobody reads is waited for. */
const AWAITED_BYTES = 10 * 1024;

/**
 * No route of the scope reads a body; whatever is sent along is taken, however large it is: the log of a job must not keep
 * its ping from counting. Only its beginning is waited for; the rest is dropped as it comes.
 */
export function readNoBody(scope: HttpServer): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, body, done) => {
    let left = AWAITED_BYTES;
    const end = () => {
      body.off('end', end).off('error', done);
      // What breaks later is no matter of the answer.
      body.on('error', () => {});
      done(null);
    };
    body.once('end', end).once('error', done);
    body.on('data', (chunk: Buffer) => {
      if (left <= 0) return;
      left -= chunk.length;
      if (left <= 0) end();
    });
  });
}

/** Whether a body comes with a request. Source: RFC 9112 §6.3. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
