import { z } from 'zod';
import { KeyPrefix, type Service } from '../contracts/api-key.ts';
import { KeyLimits, KeyLimitsChange } from '../contracts/key-limits.ts';

export { KeyLimits };

/** The name of a key. */
export const KeyName = z.string().trim().min(1).max(100);

/** What a key is made of, by whoever may manage keys. */
export const CreateKey = z.strictObject({
  name: KeyName,
  limits: KeyLimits.strict().optional(),
  /** Whether whoever has it can change nothing. */
  readOnly: z.boolean().optional(),
});

/** Which limits of a key change. */
export const ChangeKey = z.strictObject({ limits: KeyLimitsChange });

/** How a key begins: enough to tell it from others, and no help to guess it. */
export const keyStart = (service: Service, id: string) => KeyPrefix[service] + id;
