import { CommandError } from './errors.ts';
import type { Person, Place } from './platform.ts';

/**
 * Who may do something: everyone, those who manage the place, or these people and groups as well. A group is a user group
 * of Slack or a role of Discord, by the platform's id, like a person.
 */
export type Who = 'everyone' | 'managers' | readonly Place[];

/** Whether somebody may, at the place where they speak. Whoever manages the place may always. */
export async function isAllowed(who: Who, person: Person, place: Place): Promise<boolean> {
  if (who === 'everyone' || (await person.mayManage?.())) return true;
  if (who === 'managers') return false;
  const ids = who.filter(({ platform }) => platform === place.platform).map((one) => one.channel);
  if (ids.includes(person.id)) return true;
  for (const id of ids) if (await person.isIn?.(id)) return true;
  return false;
}

/** Throws a `CommandError` when somebody may not; `what` says what they wanted, after "may". */
export async function requireRight(
  who: Who,
  { person, place, what }: { person: Person; place: Place; what: string },
): Promise<void> {
  if (await isAllowed(who, person, place)) return;
  throw new CommandError(
    `Only ${who === 'managers' ? 'those who manage this channel' : 'some people, chosen by whoever runs Askwatch,'} may ${what}. Ask one of them.`,
  );
}
