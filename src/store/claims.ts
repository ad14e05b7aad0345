import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { z } from 'zod';

export interface ClaimsDeclaration<T> {
  /** Lower-case words with hyphens. */
  name: string;
  /** What is kept of a thing until it is done, for whoever goes on with it. JSON. */
  schema: z.ZodType<T>;
  /** How long what is done is refused, unless it is said otherwise. */
  keptMs: number;
}

/** Things that are to be done once, whichever process hears of them, and however often. */
export interface Claims<T> {
  /**
   * What this process has when it is to do it now: it is not done, and no process that lives does it. Durable before it
   * resolves. `request` is kept until it is done, for whoever goes on with it when this process dies, so that whoever asks
   * meanwhile is refused; without one nobody goes on with it, and whoever asks then may do it.
   */
  once(id: string, request?: T): Promise<Held | undefined>;
  /**
   * It is done, and refused from now on for `keptMs`; what was kept of it is gone. False when another process does it, which
   * took it over while this one counted as dead: then nothing has changed.
   */
  finish(id: string, keptMs?: number): Promise<boolean>;
  /** It came to nothing, also when it counted as done: whoever asks next may do it. Nothing where another process does it. */
  giveBack(id: string): Promise<void>;
  /** This process does not do it for now: it is among what is `abandoned`, where something was kept of it. */
  leave(id: string): void;
  /** Takes over what other processes did when they died, oldest first, some of it when it is very many; nobody else gets it. */
  abandoned(): Promise<Array<Abandoned<T>>>;
}

/** Something that this process does alone, while it counts as alive. */
export interface Held {
  /** Aborts when another process may go on with it. */
  readonly signal: AbortSignal;
  /** Whether it is still this one that does it, also right after a standstill, of which no timer has told yet. */
  isHeld(): boolean;
}

/** What this process goes on with from now on. Its id is kept nowhere: what of it is needed, the request has. */
export interface Abandoned<T> {
  request: T;
  held: Held;
  /** How often it was taken over, this time included. */
  takeovers: number;
  /** As `finish` and `giveBack` of its id. */
  finish(keptMs?: number): Promise<boolean>;
  giveBack(): Promise<void>;
}

/** Things of one name, as an engine keeps them. What `busy` holds, this process does. */
export interface ClaimTable {
  /** `request` is JSON. */
  take(key: string, request: string | undefined): Promise<Held | undefined>;
  finish(key: string, keptMs: number): Promise<boolean>;
  giveBack(key: string): Promise<void>;
  takeAbandoned(busy: ReadonlySet<string>): Promise<{ held: Held; rows: AbandonedRow[] }>;
}

export interface AbandonedRow {
  key: string;
  /** JSON. */
  request: string;
  takeovers: number;
}

/** What nobody has gone on with for so long is nobody's any more. */
export const GIVEN_UP_MS = 7 * 86_400_000;

/** Things of a name that a process does at once; with more, the oldest may be done a second time. */
const MAX_BUSY = 10_000;

/** Claims in a table: of two in this process that want the same, memory decides, and the table of two processes. */
export function createClaims<T>(
  { name, schema, keptMs: usuallyMs }: ClaimsDeclaration<T>,
  { table, assertOpen, log }: { table: ClaimTable; assertOpen: () => void; log: Logger },
): Claims<T> {
  const busy = new Set<string>();
  /** What is being stored that it is taken. */
  const taking = new Map<string, Promise<unknown>>();
  /** While it is looked for what nobody does, nothing is taken: the table cannot tell that this process does it. */
  let looking: Promise<unknown> | undefined;
  const givenBack = new Map<string, Promise<void>>();

  const before = (key: string) => givenBack.get(key) ?? taking.get(key) ?? looking;

  function begin(key: string) {
    busy.add(key);
    for (const oldest of busy) {
      if (busy.size <= MAX_BUSY) break;
      busy.delete(oldest);
    }
  }

  async function finish(key: string, keptMs = usuallyMs): Promise<boolean> {
    assertOpen();
    const isOwn = await table.finish(key, keptMs);
    busy.delete(key);
    return isOwn;
  }

  async function giveBack(key: string): Promise<void> {
    assertOpen();
    // Whoever wants it from now on waits for that.
    const given = table.giveBack(key).finally(() => {
      if (givenBack.get(key) === given) givenBack.delete(key);
    });
    givenBack.set(key, given);
    busy.delete(key);
    await given;
  }

  return {
    async once(id, request) {
      assertOpen();
      const key = keyOf(id);
      // Whoever is refused is told so once it is durable; where that fails, it is for the next.
      for (let first = before(key); first; first = before(key)) await first.catch(() => {});
      if (busy.has(key)) return undefined;
      const kept = request === undefined ? undefined : JSON.stringify(request);
      const taken = table
        .take(key, kept)
        .then((held) => {
          if (held) begin(key);
          return held;
        })
        .finally(() => taking.delete(key));
      taking.set(key, taken);
      return await taken;
    },
    finish: async (id, keptMs) => await finish(keyOf(id), keptMs),
    giveBack: async (id) => await giveBack(keyOf(id)),
    leave: (id) => void busy.delete(keyOf(id)),
    async abandoned() {
      assertOpen();
      while (looking) await looking.catch(() => {});
      const found = table.takeAbandoned(new Set([...busy, ...taking.keys()])).finally(() => {
        looking = undefined;
      });
      looking = found;
      const { held, rows } = await found;
      return rows.flatMap(({ key, request: text, takeovers }): Array<Abandoned<T>> => {
        begin(key);
        const request = schema.safeParse(JSON.parse(text));
        if (!request.success) {
          log.error(`could not read what is stored for one of '${name}'; it will not be continued`);
          return [];
        }
        return [
          {
            request: request.data,
            held,
            takeovers,
            finish: (keptMs) => finish(key, keptMs),
            giveBack: () => giveBack(key),
          },
        ];
      });
    },
  };
}

/** Ids come from outside, and may be personal: hashed, they are short and mean nothing. */
export const keyOf = (id: string): string =>
  createHash('sha256').update(id).digest('hex').slice(0, 32);
