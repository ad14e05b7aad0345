import { CommandError } from './errors.ts';
import type { Person, Place, RightOver } from './place.ts';

/** The list has ids of people, Slack user groups and Discord roles, who have the right in addition to managers. */
export type Who = 'everyone' | 'managers' | readonly Place[];

export interface Right {
  setting: 'mayAdd' | 'mayManage';
  over: RightOver;
  /** Follows “can” in a refusal. */
  to: string;
}

/** `shared` is what all channels share, such as monitors. */
export const mayManage = (to: string, over: RightOver = 'shared'): Right => ({
  setting: 'mayManage',
  over,
  to,
});

export interface Asker {
  person: Person;
  place: Place;
  settings: Record<Right['setting'], Who>;
}

/** Managers of the place, or of what all places share, always have the right. */
export async function hasRight(right: Right, { person, place, settings }: Asker): Promise<boolean> {
  const who = settings[right.setting];
  if (who === 'everyone' || (await person.mayManage?.(right.over))) return true;
  if (who === 'managers') return false;
  const ids = who.filter(({ platform }) => platform === place.platform).map((one) => one.channel);
  if (ids.includes(person.id)) return true;
  for (const id of ids) if (await person.isIn?.(id)) return true;
  return false;
}

/** Throws a `CommandError` that names the people with the right. */
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
