import type { CardAction } from './card.ts';

/** What a button may carry: the shortest room of the platforms. Source: Discord docs, "Component Reference", `custom_id`. */
const MAX_LENGTH = 100;

const textOf = ({ command, values }: Pick<CardAction, 'command' | 'values'>) =>
  `${command}?${new URLSearchParams(values)}`;

/** Whether a button can carry it: ids of another service may be long. */
export const isCarried = (action: Pick<CardAction, 'command' | 'values'>) =>
  textOf(action).length <= MAX_LENGTH;

/** A button's state as one text: `incident acknowledge?incident=…`. It is all that is needed after a restart. */
export function encodeAction(action: CardAction): string {
  const text = textOf(action);
  if (text.length > MAX_LENGTH) throw new RangeError(`“${text}” is too long for a button.`);
  return text;
}

/** What a press of a button asks for; it comes from outside, so it is checked like anything that is said. */
export function decodeAction(
  text: string,
): { command: string; values: Record<string, string> } | undefined {
  const [command = '', query, ...rest] = text.split('?');
  if (command === '' || query === undefined || rest.length > 0 || text.length > MAX_LENGTH) {
    return undefined;
  }
  return { command, values: Object.fromEntries(new URLSearchParams(query)) };
}
