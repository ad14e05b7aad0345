import { z } from 'zod';
import { type KeyedService, KeyPrefix } from '../contracts/api-key.ts';
import { KeyLimits, KeyLimitsChange } from '../contracts/key-limits.ts';

export { KeyLimits };

export const KeyName = z.string().trim().min(1).max(100);

export const CreateKey = z.strictObject({
  name: KeyName,
  limits: KeyLimits.strict().optional(),
  /** Read-only keys can't change anything. */
  readOnly: z.boolean().optional(),
});

export const ChangeKey = z.strictObject({ limits: KeyLimitsChange });

/** The public beginning of a key: it identifies the key and doesn't help to guess it. */
export const keyStart = (service: KeyedService, id: string) => KeyPrefix[service] + id;
