import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';

/** How a provider differs from the convention. All but its dialect is data; one dialect serves all that speak the convention. */
export interface ProviderProfile extends ParameterRules {
  /** Its name as people write it. */
  title: string;
  /** The variable that connects it: that of its key, or of its address where it is local. */
  setting: string;
  /** Where it answers when nothing else is said. */
  baseUrl: string;
  /** The variable of another address, and what the table of the settings says of it. */
  address?: { setting: string; about: string };
  /** It needs no key and runs where its operator started it, so it is looked for; and how to start it, in a sentence. */
  local?: { howToStart: string };
  /**
   * Below its address, what tells whether a key is good and costs nothing.
   * Source: the providers' API references, "List models".
   */
  keyCheckPath: string;
  /** Its models in the shipped catalog; it does not stand there when absent. */
  catalog?: CatalogModels;
  /** The form its chat API speaks. */
  dialect: Dialect;
  /** The header that carries the key: as a bearer token in `authorization`, bare in any other. */
  keyHeader: string;
  /** Sent with every call. */
  headers: Readonly<Record<string, string>>;
  /** Kinds of content parts it takes beside text and pictures. */
  parts: readonly string[];
  /** The largest `n`. */
  maxChoices: number;
  /** Takes `stream_options`; those that do not send usage in the last chunk by themselves. */
  streamOptions: boolean;
  /** Pads its chunks with an `obfuscation` field unless it is asked not to. */
  padsChunks: boolean;
  /** Answers come as the convention says only after a look at each chunk, so they cannot be passed on as bytes. */
  repairStreams: boolean;
  /** Its own reasons why an answer ended, by the convention's. */
  finishReasons: Readonly<Record<string, string>>;
  /** Reasons that mean that the answer broke off and is not whole. */
  brokenReasons: readonly string[];
  /** Reports refused content with a 403, which elsewhere means a refused key. */
  moderatesWith403: boolean;
  /**
   * How a 400 begins that is not about the request but about our key (401) or our credit (402). Only the beginning
   * counts: what follows can hold the client's own words.
   */
  accountRefusals: readonly { message: RegExp; status: 401 | 402 }[];
  /** Families of models that differ from the rest, by the provider's own names; the first that fits counts. */
  models: readonly ModelRules[];
}

/** Sizes of model that the shipped catalog has entries for. */
export type Tier = 'light' | 'middle' | 'best';

/** Which models of a provider the shipped catalog names, and what is known of them. */
export interface CatalogModels {
  /** Its own names, or `*` for whatever it serves. */
  names: Readonly<Record<Tier, string>>;
  /** They take 200K tokens; a local model's context is what its owner gave it. */
  takesLongPrompts: boolean;
  /** The middle one takes pictures. */
  takesImages: boolean;
  /** By its own names; none of those that change from question to question, or from machine to machine. */
  figures: Readonly<Record<string, ModelFigures>>;
}

/**
 * What is known of a provider's model, as its maker describes it. Speed and quality are this program's own scale, from 1 to
 * 10, in the order in which makers set their models beside one another. Only their order counts.
 */
export interface ModelFigures {
  /** How fast it answers. */
  speed: number;
  /** How good its answers are. */
  quality: number;
  /** List price of a million tokens for short prompts, US dollars: what is sent, and what comes back. */
  price: readonly [input: number, output: number];
}

/** What becomes of a request's parameters. */
export interface ParameterRules {
  /** What it calls the limit of the answer's length. */
  maxTokensName: 'max_tokens' | 'max_completion_tokens';
  /** Parameters it answers with a 400 and that only steer the choice of words, so that a call can do without them. */
  drop: readonly string[];
  /** The largest value it takes of a parameter; more is lowered to it. */
  maxValues: Readonly<Record<string, number>>;
  /** Its own names for parameters that the contract does not know. */
  rename: Readonly<Record<string, string>>;
  /** Refuses `stop`, so the answer is cut here. */
  ownStops: boolean;
  /** Refuses `top_p` beside a temperature of 0. */
  greedyAlone: boolean;
  /** Fields of a message it answers with a 400. */
  dropFromMessages: readonly string[];
  /** Knows the role `developer`; elsewhere it is `system`, its older name. */
  developerRole: boolean;
  /** Wants system messages at the beginning and the user's word at the end. */
  strictTurns: boolean;
}

/** How one form of chat API says what all of them do; the HTTP upstream does the rest. */
export interface Dialect {
  /** Below the provider's base URL. */
  path: string;
  /** The request as the provider takes it. Throws `UpstreamError` for what it has no word for. */
  encode(request: ChatRequest, provider: Provider, model: string): Record<string, unknown>;
  /** Stop sequences that `encode` leaves out, at which the answer must be cut here. */
  ownStops(request: ChatRequest, provider: Provider): readonly string[];
  /** What the client asked for that `encode` leaves out and nothing here makes up for. */
  dropped(request: ChatRequest, provider: Provider, model: string): readonly string[];
  /** A whole answer. Throws `UpstreamError` for one that is none. */
  decode(value: unknown, provider: Provider, model: string): ChatCompletion;
  /** Begins to read a stream. */
  openStream(provider: Provider, model: string): StreamDecoder;
}

/** Reads the events of one stream. */
export interface StreamDecoder {
  /** The chunks that an event stands for; `undefined` when it says nothing. Throws `UpstreamError`. */
  read(data: string): readonly ChatCompletionChunk[] | undefined;
  /** The stream has said that it is whole. */
  readonly whole: boolean;
  /** It would be whole if its body ended here. */
  readonly mayEnd: boolean;
}

/** How a family of models takes parameters, where that differs from the rest of its provider's. */
export interface ModelRules extends Partial<ParameterRules> {
  models: RegExp;
}

/** Providers by their names, in the order in which a catalog's reader meets them. */
export type ProviderTable = Readonly<Record<string, ProviderProfile>>;

/** A provider that can be called now. */
export interface Provider extends ProviderProfile {
  /** Its name in the table. */
  name: string;
  /** Absent where it is local. */
  apiKey?: string;
  /** It is another service than the one of this name, so its models have names of their own. */
  isElsewhere?: true;
  /** What it serves, those with the largest context first; anything the catalog names, where that is not known. */
  served?: readonly ServedModel[];
}

/** A model that a service lists and that can chat. */
export interface ServedModel {
  id: string;
  /** Tokens of prompt and answer together, where the service tells them. */
  contextTokens?: number;
  /** Says of itself that it takes pictures. */
  takesImages: boolean;
}

/** The provider as it takes calls to this model. */
export function forModel<P extends ProviderProfile>(provider: P, model: string): P {
  const { models: _, ...rules } = provider.models.find(({ models }) => models.test(model)) ?? {};
  return { ...provider, ...rules };
}
