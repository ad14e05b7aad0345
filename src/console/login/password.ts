import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';

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

/** Takes the password; when it is another one than last time, `whenChanged` has to be done before it counts. */
export async function openPassword(options: {
  password: string;
  stored: Collection<Fingerprint>;
  whenChanged: () => Promise<void>;
  /** scrypt's N, for a fingerprint that is made now. */
  cost?: number | undefined;
}) {
  const { password, stored, whenChanged, cost = COST } = options;
  let fingerprint = await stored.get(ID);
  if (!fingerprint || !(await fits(password, fingerprint))) {
    const salt = randomBytes(SALT_BYTES).toString('hex');
    const hash = (await derive(password, { salt, cost })).toString('hex');
    const made = { salt, hash, cost };
    // A crash between the two does the first once more.
    await whenChanged();
    await stored.update(ID, () => made);
    fingerprint = made;
  }
  const right = fingerprint;
  const last: Record<Giver, Promise<unknown>> = {
    known: Promise.resolve(),
    stranger: Promise.resolve(),
  };
  return {
    /**
     * Whether this is the password, in a time that does not tell how much of it is right. One is looked at after another;
     * who is known does not wait behind strangers.
     */
    isRight(given: string, by: Giver) {
      const mine = last[by].then(() => fits(given, right));
      last[by] = mine.catch(() => undefined);
      return mine;
    },
  };
}

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
