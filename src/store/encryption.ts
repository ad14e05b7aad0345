import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Makes texts unreadable for anyone who has the files and not the secret. */
export type Encryption = ReturnType<typeof createEncryption>;

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
/** Source: NIST SP 800-38D, section 8.2: 96 random bits, new for each text. */
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM with a key that HKDF (RFC 5869) derives from the secret for this one purpose. */
export function createEncryption(secret: string, purpose: string) {
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, KEY_BYTES));
  return {
    /** The text as base64url. `owner` is whose it is: nobody else's can be put in its place. */
    encrypt(text: string, owner: string): string {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(owner));
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64url');
    },
    /** The text; undefined when it was encrypted with another secret or for another owner, or was changed. */
    decrypt(encrypted: string, owner: string): string | undefined {
      const bytes = Buffer.from(encrypted, 'base64url');
      if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
      const iv = bytes.subarray(0, IV_BYTES);
      const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(owner));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const text = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
      try {
        return Buffer.concat([text, decipher.final()]).toString('utf8');
      } catch {
        // The tag does not fit, which is all that can be known.
        return undefined;
      }
    },
  };
}
