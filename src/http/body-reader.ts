import type { IncomingMessage, ServerResponse } from 'node:http';
import { ErrorCode } from '../contracts/error.ts';
import { FairRoom } from '../contracts/fair-room.ts';
import { HttpError, unavailable } from './errors.ts';

/** Memory overhead per chunk, in bytes. A body may arrive in chunks of one byte. */
const PART_BYTES = 200;

/**
 * Reads bodies into memory that all senders share fairly. Bytes count when they are received, so announcing much takes nothing from
 * others.
 */
export function createBodyReader({ roomBytes, timeMs }: { roomBytes: number; timeMs: number }) {
  const room = new FairRoom(roomBytes);

  /** Memory counts until the body is read or, with `response`, until that is sent. Rejects with the 413, 408 or 503. */
  return function readBody(
    request: IncomingMessage,
    options: { sender: string; limitBytes: number; response?: ServerResponse },
  ): Promise<Buffer> {
    const { sender, limitBytes, response } = options;
    const parts: Buffer[] = [];
    let length = 0;
    let held = 0;
    return new Promise((resolve, reject) => {
      if (Number(request.headers['content-length'] ?? 0) > limitBytes) return reject(tooLarge());
      const timer = setTimeout(() => fail(tooSlow(timeMs)), timeMs);
      const giveBack = () => room.giveBack(sender, held);
      function stop() {
        clearTimeout(timer);
        request.off('data', take).off('end', finish).off('close', leave);
        if (response && !response.closed) response.once('close', giveBack);
        else giveBack();
      }
      function fail(error: HttpError) {
        stop();
        parts.length = 0;
        reject(error);
      }
      function take(part: Buffer) {
        length += part.length;
        const bytes = part.length + PART_BYTES;
        if (length > limitBytes) return fail(tooLarge());
        if (!room.take(sender, bytes)) return fail(overloaded());
        held += bytes;
        parts.push(part);
      }
      function finish() {
        stop();
        resolve(Buffer.concat(parts, length));
      }
      const leave = () =>
        fail(new HttpError(400, ErrorCode.invalidRequest, 'The body was cut off.'));
      // A sender that leaves is noticed by `close`.
      request.on('error', () => {});
      request.on('data', take).once('end', finish).once('close', leave);
    });
  };
}

const tooLarge = () =>
  new HttpError(413, ErrorCode.bodyTooLarge, 'The request body is too large. Send less.');

const tooSlow = (timeMs: number) =>
  new HttpError(
    408,
    ErrorCode.requestTimeout,
    `The request body did not arrive within ${timeMs / 1000} s. Send it faster.`,
  );

const overloaded = () =>
  unavailable(
    'The service is receiving too much at once. Wait 5 s (Retry-After) and send it again.',
    5,
  );
