import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';

/** Describes how a provider differs from the convention. Providers that follow the convention share one dialect. */
export interface ProviderProfile extends ParameterRules {
  /** Display name. */
  title: string;
  /** Variable that connects it: for its key, or for its address if it is local. */
  setting: string;
  /** Default base URL. */
  baseUrl: string;
  /** Variable for another address, and its description in the table of settings. */
  address?: { setting: string; about: string };
  /** Present if it needs no key and runs where its operator started it; the gateway searches for it. */
  local?: { howToStart: string };
  /**
   * Path that checks a key and costs nothing.
   * Source: the providers' API references, "List models".
   */
  keyCheckPath: string;
  /** Models in the shipped catalog, if it has any there. */
  catalog?: CatalogModels;
  dialect: Dialect;
  /** Header for the key: a bearer token in `authorization`, the bare key in any other. */
  keyHeader: string;
  /** Headers of every call. */
  headers: Readonly<Record<string, string>>;
  /** Content parts that it accepts in addition to text and pictures. */
  parts: readonly string[];
  /** The largest `n`. */
  maxChoices: number;
  /** Accepts `stream_options`; the others send the usage in the last chunk by themselves. */
  streamOptions: boolean;
  /** Pads its chunks with an `obfuscation` field unless the request turns that off. */
  padsChunks: boolean;
  /** The convention's finish reasons for its own ones. */
  finishReasons: Readonly<Record<string, string>>;
  /** Finish reasons of an answer that broke off. */
  brokenReasons: readonly string[];
  /** Reports refused content with a 403, which elsewhere means a refused key. */
  moderatesWith403: boolean;
  /**
   * Beginning of a 400 that is about our key (401) or our credit (402). Only the beginning counts, because the rest can quote
   * the client.
   */
  accountRefusals: readonly { message: RegExp; status: 401 | 402 }[];
  /** Families of models that differ from the rest; the first match counts. */
  models: readonly ModelRules[];
}

/** Sizes of models in the shipped catalog. */
export type Tier = 'light' | 'middle' | 'best';

/** Models of a provider in the shipped catalog. */
export interface CatalogModels {
  /** Names of its models, or `*` for any that it serves. */
  names: Readonly<Record<Tier, string>>;
  /** They accept 200K tokens; a local model's context depends on its owner. */
  takesLongPrompts: boolean;
  /** The middle one accepts pictures. */
  takesImages: boolean;
  /** Figures by model name; none for names that stand for changing models. */
  figures: Readonly<Record<string, ModelFigures>>;
}

/**
 * Figures of a provider's model, by its maker's description. Speed and quality are our own scale from 1 to 10; only the
 * order counts.
 */
export interface ModelFigures {
  speed: number;
  quality: number;
  /** List price of a million tokens for short prompts, US dollars. */
  price: readonly [input: number, output: number];
}

/** Changes to a request's parameters. */
export interface ParameterRules {
  /** The provider's name for the limit of the answer's length. */
  maxTokensName: 'max_tokens' | 'max_completion_tokens';
  /** Parameters to leave out: it answers them with a 400, and they only steer the choice of words. */
  drop: readonly string[];
  /** The largest accepted value of a parameter; larger ones are lowered to it. */
  maxValues: Readonly<Record<string, number>>;
  /** The provider's names for parameters outside the contract. */
  rename: Readonly<Record<string, string>>;
  /** Refuses `stop`, so the gateway cuts the answer. */
  ownStops: boolean;
  /** Refuses `top_p` with a temperature of 0. */
  greedyAlone: boolean;
  /** Fields of a message that it answers with a 400. */
  dropFromMessages: readonly string[];
  /** Accepts the role `developer`; the others get `system`, its older name. */
  developerRole: boolean;
  /** Requires system messages at the beginning and a user message at the end. */
  strictTurns: boolean;
}

/** Translates to and from one form of chat API; the HTTP upstream does the rest. */
export interface Dialect {
  /** Path below the provider's base URL. */
  path: string;
  /** Converts a request. Throws `UpstreamError` for anything that the API can't express. */
  encode(request: ChatRequest, provider: Provider, model: string): Record<string, unknown>;
  /** Returns the stop sequences that `encode` leaves out, so that the gateway cuts the answer at them. */
  ownStops(request: ChatRequest, provider: Provider): readonly string[];
  /** Lists the parameters that `encode` leaves out and the gateway doesn't implement itself. */
  dropped(request: ChatRequest, provider: Provider, model: string): readonly string[];
  /** Reads a whole answer. Throws `UpstreamError` if it isn't one. */
  decode(value: unknown, provider: Provider, model: string): ChatCompletion;
  openStream(provider: Provider, model: string): StreamDecoder;
}

/** Reads the events of one stream. */
export interface StreamDecoder {
  /** Converts an event to chunks; `undefined` if it carries nothing. Throws `UpstreamError`. */
  read(data: string): readonly ChatCompletionChunk[] | undefined;
  /** The stream said that it is whole. */
  readonly whole: boolean;
  /** The stream is whole if its body ends here. */
  readonly mayEnd: boolean;
}

/** Rules of a family of models that differ from its provider's. */
export interface ModelRules extends Partial<ParameterRules> {
  models: RegExp;
}

/** Providers by name, in display order. */
export type ProviderTable = Readonly<Record<string, ProviderProfile>>;

/** A provider that can be called now. */
export interface Provider extends ProviderProfile {
  /** Key in the table. */
  name: string;
  /** Absent if it is local. */
  apiKey?: string;
  /** Another service is at its address, so the models have other names. */
  isElsewhere?: true;
  /** Served models, the largest context first. If absent, it is assumed to serve every model in the catalog. */
  served?: readonly ServedModel[];
}

/** A model that a service lists and that can chat. */
export interface ServedModel {
  id: string;
  /** Tokens of prompt and answer together, if the service lists them. */
  contextTokens?: number;
  /** The service lists that it accepts pictures. */
  takesImages: boolean;
}

/** Returns the provider with the rules for this model. */
export function forModel<P extends ProviderProfile>(provider: P, model: string): P {
  const { models: _, ...rules } = provider.models.find(({ models }) => models.test(model)) ?? {};
  return { ...provider, ...rules };
}
