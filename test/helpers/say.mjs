import { writeSync } from 'node:fs';

/** Until the pipe is tried again. */
const PAUSE_MS = 1;
const nobody = new Int32Array(new SharedArrayBuffer(4));

/**
 * Prints a line at once. Not console.log: when the reader is slow that keeps lines in memory, which a kill takes away. The pipe
 * to a parent does not wait for its reader either, and is full after some hundred lines: this does.
 */
export function say(line) {
  for (;;) {
    try {
      writeSync(1, `${line}\n`);
      return;
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(nobody, 0, 0, PAUSE_MS);
    }
  }
}
