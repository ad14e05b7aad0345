/**
 * What an edit is for: an alert, the end of an answer, the first text of an answer, more of it, or what an answer left
 * behind whose end was posted.
 */
export type EditKind = 'alert' | 'end' | 'first' | 'more' | 'late';

/** The edits of a workspace, which Slack counts together whatever channel they are in. */
export type EditPace = ReturnType<typeof createEditPace>;

/** Edits of a workspace in a minute. Source: Slack docs, "Rate limits", "Web API rate limits by tier", tier 3. */
const A_MINUTE = 50;

/** Places of a minute that are left to what is more urgent. */
const LEFT_FREE: Record<EditKind, number> = { alert: 0, end: 1, first: 1, more: 1, late: 1 };

/** Edits that may be ahead before a new message is the better way to say something: about twenty seconds. */
const MOST_AHEAD = 15;

/** Answers at once whose ends all find room in a minute, beside alerts and what grows. */
const CROWD = 40;

/** The most urgent first. */
const KINDS = ['alert', 'end', 'first', 'more', 'late'] as const;

/** How much slower it goes after a refusal, at most, and what each edit that Slack takes leaves of that. */
const SLOWEST = 4;
const RECOVERY = 0.95;

interface Waiting {
  start(): void;
  fail(error: Error): void;
}

/** `editMs` is a little more than a fiftieth of a minute. */
export function createEditPace({ editMs }: { editMs: number }) {
  // At 1.3 s an edit that is 63.7 s: a minute, and some seconds for edits that are long on their way.
  const windowMs = (A_MINUTE - 1) * editMs;
  const lines: Record<EditKind, Waiting[]> = { alert: [], end: [], first: [], more: [], late: [] };
  /** When the edits of the last minute started, oldest first. */
  const startsMs: number[] = [];
  /** When an edit of an answer that is being written started last. */
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  let limitedUntilMs = Number.NEGATIVE_INFINITY;
  let slowness = 1;
  let timer: NodeJS.Timeout | undefined;
  let underWay = 0;
  let hurries = false;
  let closed = false;

  /** Before an edit of this kind may start. */
  function waitMs(kind: EditKind): number {
    const nowMs = performance.now();
    while ((startsMs[0] ?? nowMs) <= nowMs - windowMs) startsMs.shift();
    const most = Math.floor(A_MINUTE / slowness) - LEFT_FREE[kind];
    const roomAtMs = (startsMs[startsMs.length - most] ?? Number.NEGATIVE_INFINITY) + windowMs;
    const turnAtMs = isWriting(kind) ? writtenAtMs + editMs * slowness : nowMs;
    const pacedAtMs = isHurried(kind) ? nowMs : Math.max(roomAtMs, turnAtMs);
    return Math.max(0, Math.max(limitedUntilMs, pacedAtMs) - nowMs);
  }

  /** Before an edit would start that joined the line of its kind now. */
  function waitInLineMs(kind: EditKind): number {
    const nowMs = performance.now();
    const firstMs = waitMs(kind);
    const ahead = KINDS.slice(0, KINDS.indexOf(kind) + 1).flatMap((each) => lines[each]).length;
    const most = Math.floor(A_MINUTE / slowness) - LEFT_FREE[kind];
    const at = startsMs.length + ahead - most;
    if (at < 0 || isHurried(kind)) return firstMs;
    // Those ahead start when there is room, and leave a window behind.
    return Math.max(firstMs, (startsMs[at] ?? nowMs) + windowMs - nowMs);
  }

  function started(kind: EditKind) {
    startsMs.push(performance.now());
    if (isWriting(kind)) writtenAtMs = performance.now();
  }

  const isHurried = (kind: EditKind) => hurries && !isWriting(kind);

  const nextKind = () => KINDS.find((kind) => lines[kind].length > 0);

  /** Starts what may start, and comes back for the rest. */
  function run() {
    clearTimeout(timer);
    for (let kind = nextKind(); kind; kind = nextKind()) {
      const leftMs = waitMs(kind);
      if (leftMs > 0) {
        timer = setTimeout(run, Math.ceil(leftMs));
        return;
      }
      started(kind);
      lines[kind].shift()?.start();
    }
  }

  return {
    /** Takes a place among the edits of this minute; when there is none, says for how many milliseconds. */
    take(kind: EditKind) {
      const leftMs = waitMs(kind);
      if (leftMs > 0) return leftMs;
      started(kind);
      return undefined;
    },

    /**
     * Resolves when an edit may start: ends first and at once while there is room, then the answers that are being written,
     * in turn, one every `editMs` between them all. Resolves too, taking no place, when `signal` aborts. Rejects once closed.
     */
    turn(kind: EditKind, signal?: AbortSignal) {
      if (closed) return Promise.reject(new Error('Slack was stopped.'));
      if (signal?.aborted) return Promise.resolve();
      return new Promise<void>((resolve, reject) => {
        const line = lines[kind];
        const leave = () => {
          line.splice(line.indexOf(waiting), 1);
          resolve();
        };
        const waiting: Waiting = {
          start() {
            signal?.removeEventListener('abort', leave);
            resolve();
          },
          fail: reject,
        };
        signal?.addEventListener('abort', leave, { once: true });
        line.push(waiting);
        run();
      });
    },

    /** Whether edits have run out: one that joined the line now would start so late that a new message says it sooner. */
    hasRunOut: (kind: EditKind) => waitInLineMs(kind) > (hurries ? 1 : MOST_AHEAD) * editMs,

    /** An answer that is to be edited begins; returns what is to be called when it is over. */
    begin() {
      underWay += 1;
      return () => {
        underWay -= 1;
      };
    },

    /** Whether so many answers are under way that the ends of more would find no room in a minute. */
    isCrowded: () => underWay > CROWD,

    /** Slack refused an edit: nothing is edited for so long, and less often for a while after. */
    limited(forMs: number) {
      const nowMs = performance.now();
      // Those that were under way together met one limit.
      if (limitedUntilMs < nowMs) slowness = Math.min(SLOWEST, 2 * slowness);
      limitedUntilMs = Math.max(limitedUntilMs, nowMs + forMs);
    },

    /** Slack took an edit. */
    took() {
      slowness = Math.max(1, RECOVERY * slowness);
    },

    /** From now on ends of answers and what they leave wait for nothing but what Slack refused, since nothing comes after them. */
    hurry() {
      hurries = true;
      run();
    },

    /** Ends all waiting. */
    close() {
      closed = true;
      clearTimeout(timer);
      for (const line of Object.values(lines)) {
        for (const { fail } of line.splice(0)) fail(new Error('Slack was stopped.'));
      }
    },
  };
}

const isWriting = (kind: EditKind) => kind === 'first' || kind === 'more';
