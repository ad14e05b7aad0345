import { CommandError } from './errors.ts';
import type { Person, Place, RightOver } from './place.ts';

/**
 * Who may do something: everyone, those who manage the place or what all places share, or these people and groups as well.
 * A group is a user group of Slack or a role of Discord, by the platform's id, like a person.
 */
export type Who = 'everyone' | 'managers' | readonly Place[];

/** A right that a command asks for. */
export interface Right {
  /** The setting that says who has it. */
  setting: 'mayAdd' | 'mayManage';
  /** Whose matter it is. */
  over: RightOver;
  /** What they want, after "can". */
  to: string;
}

/** Who asks, where, and who is to have which right. */
export interface Asker {
  person: Person;
  place: Place;
  settings: Record<Right['setting'], Who>;
}

/** Whether somebody has a right where they speak. Whoever manages what it is over always has. */
export async function hasRight(right: Right, { person, place, settings }: Asker): Promise<boolean> {
  const who = settings[right.setting];
  if (who === 'everyone' || (await person.mayManage?.(right.over))) return true;
  if (who === 'managers') return false;
  const ids = who.filter(({ platform }) => platform === place.platform).map((one) => one.channel);
  if (ids.includes(person.id)) return true;
  for (const id of ids) if (await person.isIn?.(id)) return true;
  return false;
}

/** Throws a `CommandError` that says who has it when somebody has not. */
export async function requireRight(right: Right, asker: Asker): Promise<void> {
  if (await hasRight(right, asker)) return;
  const { name = 'the workspace or server', hint } = asker.person.community ?? {};
  const managed = right.over === 'place' ? 'this channel' : name;
  const who =
    asker.settings[right.setting] === 'managers'
      ? `people who can manage ${managed}`
      : 'people chosen by your Askwatch admin';
  const more = right.over === 'shared' && hint !== undefined ? ` ${hint}` : '';
  throw new CommandError(`Only ${who} can ${right.to}. Ask one of them.${more}`);
}
