import { z } from 'zod';
import { INTAKE_KINDS, type IntakeKind } from '../../contracts/intake-kinds.ts';
import { ChangeKey, CreateKey, type KeyLimits } from '../../http/key-bodies.ts';
import type { DaySpan } from './spans.ts';

export const Days = z
  .enum(['7', '30', '90'])
  .default('30')
  .transform((text) => Number(text) as DaySpan);

export const KeyService = z.enum(['gateway', 'monitoring']);
export type KeyService = z.infer<typeof KeyService>;

export const NewKey = CreateKey.extend({
  /** The page's id for this creation, so that a repeated request creates no second key. */
  id: z.uuid(),
  service: KeyService,
});
export type NewKey = z.infer<typeof NewKey>;

export const LimitsChange = ChangeKey;
export type LimitsChange = z.infer<typeof LimitsChange>;

/** Requests with their outcomes, and tokens. `estimated` counts requests without a token count of the provider. */
export interface OutcomeCounts {
  requests: number;
  complete: number;
  left: number;
  failed: number;
  refused: number;
  promptTokens: number;
  answerTokens: number;
  estimated: number;
}

/** A key in the list, without its secret. */
export interface ListedKey {
  service: KeyService;
  id: string;
  /** The first characters of the key. */
  start: string;
  name: string;
  createdAtMs: number;
  limits: KeyLimits;
  readOnly?: boolean;
  lastUsedAtMs?: number;
  /** The last day of use, UTC, if the time isn't known. */
  lastUsedDay?: string;
  /** Usage in the last `LISTED_DAYS`; absent for a service that doesn't count it. */
  used?: { requests: number; tokens: number };
}

export interface KeyList {
  /** The services in this process, for which keys can be created. */
  services: KeyService[];
  /** Why other services are missing, sentences. */
  notices: string[];
  keys: ListedKey[];
}

/** A new key; the only answer that contains it. */
export interface CreatedKey {
  key: string;
  made: ListedKey;
  /** True if it also works at `/mcp`. */
  forAssistants?: boolean;
}

export interface UsageGroup {
  /** Absent for the sum of all others. */
  id?: string;
  name: string;
  requests: number[];
  tokens: number[];
}

export const UsageBy = z.enum(['model', 'key']);
export type UsageBy = z.infer<typeof UsageBy>;

export interface UsageAnswer {
  /** Why some usage isn't counted here, a sentence. */
  notice?: string;
  /** Days of the UTC calendar, oldest first, also days without requests. */
  days: string[];
  total: OutcomeCounts;
  /** Most tokens first; at most `MAX_GROUPS`, and one for all others. */
  groups: UsageGroup[];
  /** By key and model, most tokens first. */
  rows: Array<{ keyId: string; keyName: string; model: string; counts: OutcomeCounts }>;
  moreRows: number;
  /** The keys that were used in these days. */
  keys: Array<{ id: string; name: string }>;
}

/** A model of the catalog, as far as the gateway describes it. */
export interface ListedModel {
  id: string;
  /** The provider that would answer now. */
  provider: string;
  description?: string;
  /** Tokens of prompt and reply together. */
  contextTokens?: number;
  accepts?: Array<'text' | 'image'>;
  /** From 1, the slowest, most basic, cheapest. */
  ranks?: { speed: number; quality: number; cost: number };
  parameters?: string[];
  resolutions?: string[];
  /** Why no provider serves it now. */
  unavailable?: string;
}

export interface ModelsAnswer {
  notice?: string;
  /** In the order of the catalog. */
  text: ListedModel[];
  image: ListedModel[];
}

interface Asked {
  answers: number;
  tokens: number;
  /** Answers without a token count. */
  uncounted: number;
  /** Look-ups for the answers, and the tokens that they took. */
  lookups: number;
  lookupTokens: number;
}

/** Use of `/ask` in one channel. */
export interface AskedChannel extends Asked {
  platform: string;
  platformTitle: string;
  channel: string;
  name?: string;
  lastAtMs: number;
  /** Most tokens first. */
  people: Array<Asked & { id: string; name: string }>;
  morePeople: number;
  models: Array<Asked & { model: string }>;
  moreModels: number;
}

export interface ChannelsAnswer {
  /** Most tokens first. */
  channels: AskedChannel[];
  moreChannels: number;
  total: Asked;
}

export interface ListedPlace {
  /** The key of its place. */
  key: string;
  platformTitle: string;
  channel: string;
  name?: string;
}

/** An intake in the list, without its token. */
export interface ListedIntake {
  id: string;
  kind: IntakeKind;
  kindTitle: string;
  name: string;
  place: ListedPlace;
  createdAtMs: number;
  by: string;
  lastDeliveryAtMs?: number;
}

export interface IntakeList {
  kinds: Array<{ kind: IntakeKind; title: string }>;
  places: ListedPlace[];
  intakes: ListedIntake[];
  /** Older ones that aren't listed. */
  more: number;
}

export const NewIntake = z.strictObject({
  kind: z.enum(INTAKE_KINDS),
  place: z.string().min(1).max(300),
  name: z.string().min(1).max(80).optional(),
});
export type NewIntake = z.infer<typeof NewIntake>;

/** A new intake; the only answer that contains its address. */
export interface CreatedIntake {
  made: ListedIntake;
  /** Instructions for the sender's settings, and the text to paste there. */
  steps: Array<{ text: string; code: string }>;
}
