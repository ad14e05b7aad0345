import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';

/** A real logger whose lines are kept instead of printed, as objects, oldest first. */
export function recordingLog(): { log: Logger; lines: Array<Record<string, unknown>> } {
  const lines: Array<Record<string, unknown>> = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return { log: pino({ level: 'debug' }, sink), lines };
}
