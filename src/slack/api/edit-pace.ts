/**
 * The purpose of an edit, most urgent first. `below` changes a message below an alert, `late` tidies up after an answer whose
 * end was posted.
 */
const KINDS = ['alert', 'end', 'first', 'more', 'below', 'late'] as const;

export type EditKind = (typeof KINDS)[number];

/** Edits of a workspace in a minute. Source: Slack docs, "Rate limits", "Web API rate limits by tier", tier 3. */
const A_MINUTE = 50;

/** Edits of a minute that only alerts and messages below them may use. */
const RESERVED = 1;

/** Edits of a minute for messages below alerts, so that many leave room for alerts. */
const MOST_BELOW = 20;

/** With more edits ahead, about twenty seconds, a new message is faster. */
const MOST_AHEAD = 15;

/** The ends of this many answers fit into a minute, next to alerts and answers that grow. */
const CROWD = 40;

/** The pace after a refusal is slower by at most this factor, and recovers with each edit that Slack accepts. */
const SLOWEST = 4;
const RECOVERY = 0.95;

interface WaitingEdit {
  start(): void;
  fail(error: Error): void;
}

/** Paces the edits of a workspace, which Slack counts together, whatever channel they are in. */
export class EditPace {
  private readonly editMs: number;
  private readonly windowMs: number;
  private readonly waiting: Record<EditKind, WaitingEdit[]> = {
    alert: [],
    end: [],
    first: [],
    more: [],
    below: [],
    late: [],
  };
  /** Starts of the last minute's edits, oldest first. */
  private readonly startsMs: number[] = [];
  /** Starts of the last `below` edits, oldest first. */
  private readonly belowStartsMs: number[] = [];
  private growingEditAtMs = Number.NEGATIVE_INFINITY;
  private limitedUntilMs = Number.NEGATIVE_INFINITY;
  private slowness = 1;
  private timer: NodeJS.Timeout | undefined;
  private answersUnderWay = 0;
  private isHurrying = false;
  private isClosed = false;

  /** `editMs` is a little more than a fiftieth of a minute. */
  constructor({ editMs }: { editMs: number }) {
    this.editMs = editMs;
    // At 1.3 s an edit this is 63.7 s: a minute, and some seconds for edits that travel long.
    this.windowMs = (A_MINUTE - 1) * editMs;
  }

  /** Counts an edit that starts now. If it may not start, returns the milliseconds until it may. */
  take(kind: EditKind): number | undefined {
    const leftMs = this.waitMs(kind);
    if (leftMs > 0) return leftMs;
    this.countStart(kind);
    return undefined;
  }

  /**
   * Resolves when an edit may start: ends at once while there is room, answers that grow in turn, one every `editMs`. Resolves
   * too, without counting an edit, when `signal` aborts. Rejects once closed.
   */
  turn(kind: EditKind, signal?: AbortSignal): Promise<void> {
    if (this.isClosed) return Promise.reject(new Error('Slack was stopped.'));
    if (signal?.aborted) return Promise.resolve();
    return new Promise<void>((resolve, reject) => {
      const line = this.waiting[kind];
      const leave = () => {
        line.splice(line.indexOf(edit), 1);
        resolve();
      };
      const edit: WaitingEdit = {
        start() {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
        fail: reject,
      };
      signal?.addEventListener('abort', leave, { once: true });
      line.push(edit);
      this.startWaiting();
    });
  }

  /** True if an edit queued now would start so late that a new message is faster. */
  hasRunOut(kind: EditKind): boolean {
    return this.waitInLineMs(kind) > (this.isHurrying ? 1 : MOST_AHEAD) * this.editMs;
  }

  begin(): () => void {
    this.answersUnderWay += 1;
    return () => {
      this.answersUnderWay -= 1;
    };
  }

  /** True if the ends of more answers would find no room in a minute. */
  isCrowded(): boolean {
    return this.answersUnderWay > CROWD;
  }

  limited(forMs: number): void {
    const nowMs = performance.now();
    // Edits that were under way together met one limit.
    if (this.limitedUntilMs < nowMs) this.slowness = Math.min(SLOWEST, 2 * this.slowness);
    this.limitedUntilMs = Math.max(this.limitedUntilMs, nowMs + forMs);
  }

  took(): void {
    this.slowness = Math.max(1, RECOVERY * this.slowness);
  }

  /** From now on only Slack's refusals delay the ends of answers, since nothing comes after them. */
  hurry(): void {
    this.isHurrying = true;
    this.startWaiting();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    for (const line of Object.values(this.waiting)) {
      for (const { fail } of line.splice(0)) fail(new Error('Slack was stopped.'));
    }
  }

  private waitMs(kind: EditKind): number {
    const nowMs = performance.now();
    while ((this.startsMs[0] ?? nowMs) <= nowMs - this.windowMs) this.startsMs.shift();
    const { startsMs, belowStartsMs, windowMs } = this;
    const oldestMs = startsMs.at(-this.maxInWindow(kind)) ?? Number.NEGATIVE_INFINITY;
    const oldestBelowMs = kind === 'below' ? belowStartsMs.at(-MOST_BELOW) : undefined;
    const roomAtMs = Math.max(oldestMs, oldestBelowMs ?? oldestMs) + windowMs;
    const turnAtMs = isGrowing(kind) ? this.growingEditAtMs + this.editMs * this.slowness : nowMs;
    const pacedAtMs = this.isUnpaced(kind) ? nowMs : Math.max(roomAtMs, turnAtMs);
    return Math.max(0, Math.max(this.limitedUntilMs, pacedAtMs) - nowMs);
  }

  private waitInLineMs(kind: EditKind): number {
    const nowMs = performance.now();
    const firstMs = this.waitMs(kind);
    const kindsAhead = KINDS.slice(0, KINDS.indexOf(kind) + 1);
    const ahead = kindsAhead.flatMap((each) => this.waiting[each]).length;
    const at = this.startsMs.length + ahead - this.maxInWindow(kind);
    if (at < 0 || this.isUnpaced(kind)) return firstMs;
    // The edits ahead start when there is room, and use the next window.
    return Math.max(firstMs, (this.startsMs[at] ?? nowMs) + this.windowMs - nowMs);
  }

  private maxInWindow(kind: EditKind): number {
    const isReserved = kind === 'alert' || kind === 'below';
    return Math.floor(A_MINUTE / this.slowness) - (isReserved ? 0 : RESERVED);
  }

  private countStart(kind: EditKind): void {
    this.startsMs.push(performance.now());
    if (kind === 'below') this.belowStartsMs.push(performance.now());
    if (this.belowStartsMs.length > MOST_BELOW) this.belowStartsMs.shift();
    if (isGrowing(kind)) this.growingEditAtMs = performance.now();
  }

  private isUnpaced(kind: EditKind): boolean {
    return this.isHurrying && !isGrowing(kind);
  }

  private startWaiting(): void {
    clearTimeout(this.timer);
    const nextKind = () => KINDS.find((kind) => this.waiting[kind].length > 0);
    for (let kind = nextKind(); kind; kind = nextKind()) {
      const leftMs = this.waitMs(kind);
      if (leftMs > 0) {
        this.timer = setTimeout(() => this.startWaiting(), Math.ceil(leftMs));
        return;
      }
      this.countStart(kind);
      this.waiting[kind].shift()?.start();
    }
  }
}

const isGrowing = (kind: EditKind) => kind === 'first' || kind === 'more';
