import { styleText } from 'node:util';
import type { CommandRun, PrintOptions } from './command.ts';

/** Pause between two drawings of the bar, and between two lines elsewhere. */
const DRAW_MS = 100;
const LINE_MS = 60_000;

const WIDTH = 24;

/** Shows on standard error how far long work is: a bar on a terminal, elsewhere a line a minute. */
export class Progress {
  private readonly title: string;
  private readonly err: CommandRun['err'] | undefined;
  private shownAtMs: number;
  private isDrawn = false;

  constructor(title: string, { err }: Pick<CommandRun, 'err'>, { json, quiet }: PrintOptions) {
    this.title = title;
    this.err = json || quiet ? undefined : err;
    this.shownAtMs = err.isTTY ? Number.NEGATIVE_INFINITY : performance.now();
  }

  update(done: number, total: number, what: string): void {
    const { err } = this;
    const nowMs = performance.now();
    if (!err || nowMs - this.shownAtMs < (err.isTTY ? DRAW_MS : LINE_MS)) return;
    this.shownAtMs = nowMs;
    const text = `${done} of ${total} ${what}`;
    if (!err.isTTY) {
      err.write(`${this.title}: ${text}\n`);
      return;
    }
    const full = Math.round((Math.min(done, total) / Math.max(1, total)) * WIDTH);
    const bar = styleText('green', '━'.repeat(full), { stream: process.stderr });
    const room = Math.max(0, (err.columns ?? 80) - WIDTH - this.title.length - 3);
    err.write(`\r\u001b[K${this.title} ${bar}${'─'.repeat(WIDTH - full)} ${text.slice(0, room)}`);
    this.isDrawn = true;
  }

  /** Removes the bar, so that another line can take its place. */
  clear(): void {
    if (this.isDrawn) this.err?.write('\r\u001b[K');
    this.isDrawn = false;
  }
}
