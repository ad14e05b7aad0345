import { jsonFault, parseUntrustedJson } from '../../contracts/parse-json.ts';
import type { Provider } from './provider.ts';
import { unusableError } from './provider-errors.ts';

/** The JSON that a provider sent. Throws `UpstreamError`. */
export function parseJson(text: string, provider: Provider): unknown {
  try {
    return parseUntrustedJson(text);
  } catch (cause) {
    throw unusableError(provider, jsonFault(cause), cause);
  }
}

/** What the user is taken to say where a provider wants the user's word and the client gave none. */
const OPENING = 'Begin.';

const GO_ON = 'Go on.';

/**
 * A conversation for providers that want the system's words apart, and the user's first and last.
 * Our choice: the contract allows roles in any mix, so a conversation that begins or ends with the assistant is not
 * refused there: the user says a word before or after. Ended otherwise, some models would go on in the assistant's own
 * sentence, and others refuse.
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

/** `developer` is the newer name of `system` that some clients send. Source: OpenAI API reference, message roles. */
function isSystem({ role }: { role: string }): boolean {
  return role === 'system' || role === 'developer';
}
