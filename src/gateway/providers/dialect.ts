import { jsonFault, parseUntrustedJson } from '../../contracts/parse-json.ts';
import type { Provider } from './provider.ts';
import { unusableError } from './provider-errors.ts';

/** Parses JSON from a provider. Throws `UpstreamError`. */
export function parseJson(text: string, provider: Provider): unknown {
  try {
    return parseUntrustedJson(text);
  } catch (cause) {
    throw unusableError(provider, jsonFault(cause), cause);
  }
}

/** User messages for providers that require one where the client sent none. */
const OPENING = 'Begin.';

const GO_ON = 'Go on.';

/**
 * Splits a conversation for providers that want system messages apart, and a user message first and last.
 * Our choice: the contract allows roles in any order, so a conversation that begins or ends with the assistant gets a short
 * user message. Without one at the end, some models continue the assistant's sentence, and others refuse.
 */
export function orderTurns<Message extends { role: string }>(
  messages: readonly Message[],
  userSays: (text: string) => Message,
): { system: Message[]; turns: Message[] } {
  const system = messages.filter(isSystem);
  const spoken = messages.filter((message) => !isSystem(message));
  return {
    system,
    turns: [
      ...(spoken[0]?.role === 'user' ? [] : [userSays(OPENING)]),
      ...spoken,
      ...(spoken.at(-1)?.role === 'assistant' ? [userSays(GO_ON)] : []),
    ],
  };
}

/** `developer` is the newer name of `system`. Source: OpenAI API reference, message roles. */
function isSystem({ role }: { role: string }): boolean {
  return role === 'system' || role === 'developer';
}
