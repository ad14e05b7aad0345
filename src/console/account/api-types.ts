import { z } from 'zod';
import { INTAKE_KINDS } from '../../bot/intake/reported-alert.ts';
import { ChangeKey, CreateKey, KeyLimits } from '../../http/key-bodies.ts';
import type { Span } from './spans.ts';

/** The days of a query; text, as addresses have it. */
export const Days = z
  .enum(['7', '30', '90'])
  .default('30')
  .transform((text) => Number(text) as Span);

export const ServiceName = z.enum(['gateway', 'monitoring']);
export type ServiceName = z.infer<typeof ServiceName>;

/** A key to be made. */
export const NewKey = CreateKey.extend({
  /** Made by the page once for each key that is wanted, so that a repeated request makes no second one. */
  id: z.uuid(),
  service: ServiceName,
});
export type NewKey = z.infer<typeof NewKey>;

export const LimitsChange = ChangeKey;
export type LimitsChange = z.infer<typeof LimitsChange>;

/** What was asked and how it ended. Tokens are those of prompt and answer; `estimated` are requests. */
export const Counts = z.object({
  requests: z.int(),
  complete: z.int(),
  left: z.int(),
  failed: z.int(),
  refused: z.int(),
  promptTokens: z.int(),
  answerTokens: z.int(),
  estimated: z.int(),
});
export type Counts = z.infer<typeof Counts>;

/** A key as it is listed: never the key itself. */
export const ListedKey = z.object({
  service: ServiceName,
  id: z.string(),
  /** How the key begins. */
  start: z.string(),
  name: z.string(),
  createdAtMs: z.number(),
  limits: KeyLimits,
  /** Whether it can change nothing. */
  readOnly: z.boolean().optional(),
  /** When it was presented last, as far as that is known. */
  lastUsedAtMs: z.number().optional(),
  /** The last day on which it was used, UTC, where only that is known. */
  lastUsedDay: z.iso.date().optional(),
  /** What it used in the last `LISTED_DAYS`; absent where nobody counts. */
  used: z.object({ requests: z.int(), tokens: z.int() }).optional(),
});
export type ListedKey = z.infer<typeof ListedKey>;

export const KeyList = z.object({
  /** The services that run here, whose keys can be made. */
  services: z.array(ServiceName),
  /** What cannot be done here and why, sentences. */
  notices: z.array(z.string()),
  /** Newest first. */
  keys: z.array(ListedKey),
});
export type KeyList = z.infer<typeof KeyList>;

/** The answer to the making of a key; the only one that ever has the key. */
export const MadeKey = z.object({
  key: z.string(),
  made: ListedKey,
  /** Whether assistants can use it at `/mcp`. */
  forAssistants: z.boolean().optional(),
});
export type MadeKey = z.infer<typeof MadeKey>;

/** What a key or a model used, day by day. */
export const UsageGroup = z.object({
  /** Of the key or the model; absent for the sum of those that are not listed themselves. */
  id: z.string().optional(),
  name: z.string(),
  requests: z.array(z.int()),
  tokens: z.array(z.int()),
});
export type UsageGroup = z.infer<typeof UsageGroup>;

export const UsageBy = z.enum(['model', 'key']);
export type UsageBy = z.infer<typeof UsageBy>;

export const UsageAnswer = z.object({
  /** What is not counted here and why, a sentence. */
  notice: z.string().optional(),
  /** Days of the UTC calendar, oldest first, also those on which nothing was asked. */
  days: z.array(z.iso.date()),
  total: Counts,
  /** Most tokens first; at most `MAX_GROUPS` and one of the others. */
  groups: z.array(UsageGroup),
  /** By key and model, most tokens first. */
  rows: z.array(
    z.object({ keyId: z.string(), keyName: z.string(), model: z.string(), counts: Counts }),
  ),
  /** Rows that were left out. */
  moreRows: z.int(),
  /** The keys that were used in these days, to choose one. */
  keys: z.array(z.object({ id: z.string(), name: z.string() })),
});
export type UsageAnswer = z.infer<typeof UsageAnswer>;

/** A model of the catalog, as much of it as the gateway tells. */
export const ListedModel = z.object({
  id: z.string(),
  /** Who would answer now. */
  provider: z.string(),
  description: z.string().optional(),
  /** Tokens of prompt and reply together. */
  contextTokens: z.int().optional(),
  accepts: z.array(z.enum(['text', 'image'])).optional(),
  /** From 1: the slowest, the plainest, the cheapest. */
  ranks: z.object({ speed: z.int(), quality: z.int(), cost: z.int() }).optional(),
  /** Parameters of a call that it heeds. */
  parameters: z.array(z.string()).optional(),
  resolutions: z.array(z.string()).optional(),
  /** Why nobody answers with it now; absent when somebody does. */
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
  /** Answers whose tokens nobody told. */
  uncounted: z.int(),
  /** How often something was looked up for them, and the tokens of all that this took. */
  lookups: z.int(),
  lookupTokens: z.int(),
});

/** Who asked how much in one channel. */
export const AskedChannel = Asked.extend({
  platform: z.string(),
  /** As people call it. */
  platformTitle: z.string(),
  /** By the platform's own id. */
  channel: z.string(),
  /** What people there call it, where that is known. */
  name: z.string().optional(),
  lastAtMs: z.number(),
  /** Most tokens first. */
  people: z.array(Asked.extend({ id: z.string(), name: z.string() })),
  /** People and models that were left out. */
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

/** A channel of a platform, as people know it. */
export const ListedPlace = z.object({
  /** In its one-word form. */
  key: z.string(),
  platformTitle: z.string(),
  /** By the platform's own id. */
  channel: z.string(),
  /** What people there call it, where that is known. */
  name: z.string().optional(),
});
export type ListedPlace = z.infer<typeof ListedPlace>;

const Kind = z.enum(INTAKE_KINDS);

/** An intake as it is listed: never its token. */
export const ListedIntake = z.object({
  id: z.string(),
  kind: Kind,
  /** As people call what sends. */
  kindTitle: z.string(),
  name: z.string(),
  place: ListedPlace,
  createdAtMs: z.number(),
  /** Who made it. */
  by: z.string(),
  lastHeardAtMs: z.number().optional(),
});
export type ListedIntake = z.infer<typeof ListedIntake>;

export const IntakeList = z.object({
  kinds: z.array(z.object({ kind: Kind, title: z.string() })),
  /** Where one can be made here. */
  places: z.array(ListedPlace),
  /** Newest first. */
  intakes: z.array(ListedIntake),
  /** Older ones that were left out. */
  more: z.int(),
});
export type IntakeList = z.infer<typeof IntakeList>;

export const NewIntake = z.strictObject({
  kind: Kind,
  place: z.string().min(1).max(300),
  name: z.string().min(1).max(80).optional(),
});
export type NewIntake = z.infer<typeof NewIntake>;

/** The answer to the making of an intake; the only one that ever has its address. */
export const MadeIntake = z.object({
  made: ListedIntake,
  /** What to do in the system that sends, and what to paste there. */
  steps: z.array(z.object({ text: z.string(), code: z.string() })),
});
export type MadeIntake = z.infer<typeof MadeIntake>;
