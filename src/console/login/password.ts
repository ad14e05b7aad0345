import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection, Lease } from '../../bot/platform.ts';

/**
 * scrypt's N. 32 MiB and about a quarter of a second for each try, here as for whoever has got hold of the stored
 * fingerprint. Source: OWASP Password Storage Cheat Sheet, "scrypt".
 */
const COST = 2 ** 15;
/** Node's own limit is just what this needs, and not above. */
const MEMORY_BYTES = 64 * 1024 * 1024;
const HASH_BYTES = 32;
const SALT_BYTES = 16;

const Fingerprint = z.object({
  salt: z.string().regex(/^[0-9a-f]{32}$/),
  /** scrypt of the password, hex. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  cost: z.int().positive().default(COST),
});
export type Fingerprint = z.infer<typeof Fingerprint>;

/** By what a changed password is known after a restart. */
export const fingerprintCollection = {
  name: 'console-password',
  schema: Fingerprint,
  version: 1,
  whenCorrupt: 'forget' as const,
};

const ID = 'password';

/** Who gives a password: somebody who is logged in, or anybody. */
export type Giver = 'known' | 'stranger';

/** Between looks for the first password, which another process is storing. */
const FIRST_AGAIN_AFTER_MS = 100;

/** How often a process that was started with the password that counts tries to hold it, and one with another password. */
const HOLD_EVERY_MS = 1_000;
const REPLACE_EVERY_MS = 5_000;

/**
 * Takes the password; when it is another one than last time, `whenChanged` has to be done before it counts. Of several
 * processes one at a time holds the lease of the password: as long as one lives that was started with the password that
 * counts, those with another one go by that, so that a password that is changed process by process ends sessions once.
 */
export async function openPassword(options: {
  password: string;
  stored: Collection<Fingerprint>;
  takeLease: () => Promise<Lease | undefined>;
  whenChanged: () => Promise<void>;
  /** scrypt's N, for a fingerprint that is made now. */
  cost?: number | undefined;
  log: Logger;
}) {
  const { password, stored, takeLease, whenChanged, cost = COST, log } = options;
  /** Of the password that counts. */
  let right: Fingerprint | undefined;
  /** The one that was last compared with this process's own. */
  let judged: Fingerprint | undefined;
  /** True if this process was started with the password that counts. */
  let isRight = false;
  let lease: Lease | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const following = await stored.follow((changed) => {
    // One that was damaged stays as it was known.
    for (const { document } of changed) right = document ?? right;
  });

  async function judge() {
    if (judged === right) return;
    const one = right;
    isRight = one !== undefined && (await fits(password, one));
    judged = one;
  }

  /** Holds the password; where no process lives that was started with the one that counts, this one's counts then. */
  async function hold() {
    const taken = await takeLease();
    if (!taken) return;
    try {
      right = (await stored.get(ID)) ?? right;
      await judge();
      if (!isRight) await replace();
      lease = taken;
    } catch (error) {
      await taken.release();
      throw error;
    }
    if (closed) await taken.release();
  }

  /** Whether nobody who was started with the password that counts takes it while it is free. */
  async function isLeftAlone(): Promise<boolean> {
    const taken = await takeLease();
    await taken?.release();
    if (!taken) return false;
    await pause(2 * HOLD_EVERY_MS, undefined, { ref: false });
    return !closed;
  }

  async function replace() {
    const salt = randomBytes(SALT_BYTES).toString('hex');
    const hash = (await derive(password, { salt, cost })).toString('hex');
    // A crash between the two does the first once more.
    await whenChanged();
    right = await stored.update(ID, () => ({ salt, hash, cost }));
    judged = right;
    isRight = true;
  }

  async function go() {
    try {
      await judge();
      if ((!lease || lease.signal.aborted) && (isRight || (await isLeftAlone()))) await hold();
    } catch (error) {
      log.debug({ err: error }, 'could not claim the console password; retrying');
    }
    goLater();
  }

  function goLater() {
    if (closed) return;
    timer = setTimeout(() => void go(), isRight ? HOLD_EVERY_MS : REPLACE_EVERY_MS).unref();
  }

  try {
    await hold();
    // Another process is just about to store the first one.
    while (!right) {
      await pause(FIRST_AGAIN_AFTER_MS);
      if (!right) await hold();
    }
    await judge();
  } catch (error) {
    following.stop();
    throw error;
  }
  if (!isRight) {
    log.warn(
      'another process runs the console with a different CONSOLE_PASSWORD, which applies here, too, until the last process started with it has stopped',
    );
  }
  goLater();

  const last: Record<Giver, Promise<unknown>> = {
    known: Promise.resolve(),
    stranger: Promise.resolve(),
  };
  return {
    /**
     * The id of the password if this is it, in a time that does not tell how much of it is right. One is looked at after
     * another; who is known does not wait behind strangers.
     */
    match(given: string, by: Giver): Promise<string | undefined> {
      const mine = last[by].then(async () => {
        const made = right;
        return made && (await fits(given, made)) ? idOf(made) : undefined;
      });
      last[by] = mine.catch(() => undefined);
      return mine;
    },
    /** Whether a session that was begun with the password of this id may go on; older ones do not tell. */
    isCurrent: (id: string | undefined) =>
      id === undefined || (right !== undefined && id === idOf(right)),
    /** Lets others hold the password. */
    async close() {
      closed = true;
      clearTimeout(timer);
      following.stop();
      await lease?.release();
    },
  };
}

/** Tells one password from another, and nothing of either. */
const idOf = ({ salt }: Fingerprint) => salt.slice(0, 16);

async function fits(given: string, made: Fingerprint): Promise<boolean> {
  return timingSafeEqual(await derive(given, made), Buffer.from(made.hash, 'hex'));
}

/** A setting is read without the space around it, and the same letters may come composed or not. */
function derive(
  password: string,
  { salt, cost }: Pick<Fingerprint, 'salt' | 'cost'>,
): Promise<Buffer> {
  const text = password.trim().normalize('NFC');
  const options: ScryptOptions = { N: cost, r: 8, p: 3, maxmem: MEMORY_BYTES };
  return new Promise((resolve, reject) => {
    scrypt(text, Buffer.from(salt, 'hex'), HASH_BYTES, options, (error, derived) => {
      if (error) reject(error);
      else resolve(derived);
    });
  });
}
