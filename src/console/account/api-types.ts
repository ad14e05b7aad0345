import { z } from 'zod';
import { INTAKE_KINDS } from '../../bot/intake/reported-alert.ts';
import { ChangeKey, CreateKey, KeyLimits } from '../../http/key-bodies.ts';
import type { DaySpan } from './spans.ts';

/** The days of a query, as text in the address. */
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
export const OutcomeCounts = z.object({
  requests: z.int(),
  complete: z.int(),
  left: z.int(),
  failed: z.int(),
  refused: z.int(),
  promptTokens: z.int(),
  answerTokens: z.int(),
  estimated: z.int(),
});
export type OutcomeCounts = z.infer<typeof OutcomeCounts>;

/** A key in the list, without its secret. */
export const ListedKey = z.object({
  service: KeyService,
  id: z.string(),
  /** The first characters of the key. */
  start: z.string(),
  name: z.string(),
  createdAtMs: z.number(),
  limits: KeyLimits,
  readOnly: z.boolean().optional(),
  lastUsedAtMs: z.number().optional(),
  /** The last day of use, UTC, if the time isn't known. */
  lastUsedDay: z.iso.date().optional(),
  /** Usage in the last `LISTED_DAYS`; absent for a service that doesn't count it. */
  used: z.object({ requests: z.int(), tokens: z.int() }).optional(),
});
export type ListedKey = z.infer<typeof ListedKey>;

export const KeyList = z.object({
  /** The services in this process, for which keys can be created. */
  services: z.array(KeyService),
  /** Why other services are missing, sentences. */
  notices: z.array(z.string()),
  /** Newest first. */
  keys: z.array(ListedKey),
});
export type KeyList = z.infer<typeof KeyList>;

/** A new key; the only answer that contains it. */
export const CreatedKey = z.object({
  key: z.string(),
  made: ListedKey,
  /** True if it also works at `/mcp`. */
  forAssistants: z.boolean().optional(),
});
export type CreatedKey = z.infer<typeof CreatedKey>;

/** Usage of a key or a model, day by day. */
export const UsageGroup = z.object({
  /** Absent for the sum of all others. */
  id: z.string().optional(),
  name: z.string(),
  requests: z.array(z.int()),
  tokens: z.array(z.int()),
});
export type UsageGroup = z.infer<typeof UsageGroup>;

export const UsageBy = z.enum(['model', 'key']);
export type UsageBy = z.infer<typeof UsageBy>;

export const UsageAnswer = z.object({
  /** Why some usage isn't counted here, a sentence. */
  notice: z.string().optional(),
  /** Days of the UTC calendar, oldest first, also days without requests. */
  days: z.array(z.iso.date()),
  total: OutcomeCounts,
  /** Most tokens first; at most `MAX_GROUPS`, and one for all others. */
  groups: z.array(UsageGroup),
  /** By key and model, most tokens first. */
  rows: z.array(
    z.object({ keyId: z.string(), keyName: z.string(), model: z.string(), counts: OutcomeCounts }),
  ),
  /** Rows that aren't listed. */
  moreRows: z.int(),
  /** The keys that were used in these days. */
  keys: z.array(z.object({ id: z.string(), name: z.string() })),
});
export type UsageAnswer = z.infer<typeof UsageAnswer>;

/** A model of the catalog, as far as the gateway describes it. */
export const ListedModel = z.object({
  id: z.string(),
  /** The provider that would answer now. */
  provider: z.string(),
  description: z.string().optional(),
  /** Tokens of prompt and reply together. */
  contextTokens: z.int().optional(),
  accepts: z.array(z.enum(['text', 'image'])).optional(),
  /** From 1, the slowest, most basic, cheapest. */
  ranks: z.object({ speed: z.int(), quality: z.int(), cost: z.int() }).optional(),
  parameters: z.array(z.string()).optional(),
  resolutions: z.array(z.string()).optional(),
  /** Why no provider serves it now. */
  unavailable: z.string().optional(),
});
export type ListedModel = z.infer<typeof ListedModel>;

export const ModelsAnswer = z.object({
  notice: z.string().optional(),
  /** In the order of the catalog. */
  text: z.array(ListedModel),
  image: z.array(ListedModel),
});
export type ModelsAnswer = z.infer<typeof ModelsAnswer>;

const Asked = z.object({
  answers: z.int(),
  tokens: z.int(),
  /** Answers without a token count. */
  uncounted: z.int(),
  /** Look-ups for the answers, and the tokens that they took. */
  lookups: z.int(),
  lookupTokens: z.int(),
});

/** Use of `/ask` in one channel. */
export const AskedChannel = Asked.extend({
  platform: z.string(),
  platformTitle: z.string(),
  /** The platform's id. */
  channel: z.string(),
  /** The channel's name, if known. */
  name: z.string().optional(),
  lastAtMs: z.number(),
  /** Most tokens first. */
  people: z.array(Asked.extend({ id: z.string(), name: z.string() })),
  /** People and models that aren't listed. */
  morePeople: z.int(),
  models: z.array(Asked.extend({ model: z.string() })),
  moreModels: z.int(),
});
export type AskedChannel = z.infer<typeof AskedChannel>;

export const ChannelsAnswer = z.object({
  /** Most tokens first. */
  channels: z.array(AskedChannel),
  moreChannels: z.int(),
  total: Asked,
});
export type ChannelsAnswer = z.infer<typeof ChannelsAnswer>;

export const ListedPlace = z.object({
  /** The key of its place. */
  key: z.string(),
  platformTitle: z.string(),
  /** The platform's id. */
  channel: z.string(),
  /** The channel's name, if known. */
  name: z.string().optional(),
});
export type ListedPlace = z.infer<typeof ListedPlace>;

const Kind = z.enum(INTAKE_KINDS);

/** An intake in the list, without its token. */
export const ListedIntake = z.object({
  id: z.string(),
  kind: Kind,
  /** The sender's name. */
  kindTitle: z.string(),
  name: z.string(),
  place: ListedPlace,
  createdAtMs: z.number(),
  /** The person who created it. */
  by: z.string(),
  lastHeardAtMs: z.number().optional(),
});
export type ListedIntake = z.infer<typeof ListedIntake>;

export const IntakeList = z.object({
  kinds: z.array(z.object({ kind: Kind, title: z.string() })),
  /** Channels for a new one. */
  places: z.array(ListedPlace),
  /** Newest first. */
  intakes: z.array(ListedIntake),
  /** Older ones that aren't listed. */
  more: z.int(),
});
export type IntakeList = z.infer<typeof IntakeList>;

export const NewIntake = z.strictObject({
  kind: Kind,
  place: z.string().min(1).max(300),
  name: z.string().min(1).max(80).optional(),
});
export type NewIntake = z.infer<typeof NewIntake>;

/** A new intake; the only answer that contains its address. */
export const CreatedIntake = z.object({
  made: ListedIntake,
  /** Instructions for the sender's settings, and the text to paste there. */
  steps: z.array(z.object({ text: z.string(), code: z.string() })),
});
export type CreatedIntake = z.infer<typeof CreatedIntake>;
