import { decodeAction } from '../../bot/shared/card.ts';
import type { Person } from '../../bot/shared/place.ts';
import { fieldsOf, textOf } from '../api/payload.ts';

/** A press of a button in somebody's home. */
export interface HomePress {
  /** Lets a form open, for three seconds. */
  trigger: string;
  person: Person;
  command: string;
  values: Record<string, string>;
}

/**
 * A press of a button of ours in a home, which is no channel; undefined for anything else. Takes the payload as it came and
 * believes none of it. Source: Slack docs, "block_actions payload", "Home tab".
 */
export function parseHomePress(payload: unknown): HomePress | undefined {
  const { type, view, user, actions, trigger_id } = fieldsOf(payload);
  const { type: button, value } = fieldsOf(Array.isArray(actions) ? actions[0] : undefined);
  const { id, name, username } = fieldsOf(user);
  const request = decodeAction(textOf(value) ?? '');
  if (type !== 'block_actions' || fieldsOf(view).type !== 'home') return undefined;
  const person = textOf(id);
  const trigger = textOf(trigger_id);
  if (button !== 'button' || !request || !person || !trigger) return undefined;
  return {
    trigger,
    person: { id: person, name: textOf(name) ?? textOf(username) ?? person },
    ...request,
  };
}
