import type { Provider } from './provider.ts';
import { unusableError } from './provider-errors.ts';

/** A JSON object of which nothing is known yet. */
export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON that a provider sent. Throws `UpstreamError`. */
export function parseJson(text: string, provider: Provider): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unusableError(provider, 'is not JSON', cause);
  }
}
