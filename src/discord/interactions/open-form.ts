import type { APIModalInteractionResponseCallbackData } from 'discord.js';
import { type Command, fieldsOf } from '../../bot/commands/command.ts';
import { carriedIn, opensForm } from '../../bot/commands/form.ts';
import { orLate } from '../../bot/platform.ts';
import { type Card, textCard } from '../../bot/shared/card.ts';
import { type FormAbout, isShowable, renderForm } from '../render/render-form.ts';
import type { Handling } from './interaction-context.ts';
import { personOf, placeOf } from './interactions.ts';

/** Half of the three seconds in which a form must open. Source: Discord docs, "Receiving and Responding". */
const BEGIN_LIMIT_MS = 1_500;

const isEmpty = (value: unknown) => String(value ?? '').trim() === '';

/** True for a command that is bare, lacks a required value, or has only values that its form carries. */
export function wantsForm(command: Command, values: Record<string, unknown>): boolean {
  const fields = fieldsOf(command);
  const empty = fields.filter(({ name }) => isEmpty(values[name]));
  return (
    command.form !== undefined &&
    (empty.length === fields.length ||
      empty.some(({ required }) => required) ||
      opensForm(command, values))
  );
}

/** A command's form with these values, or a card that says why there is none. Never throws. */
export async function formFor(
  handling: Handling,
  command: Command,
  values: Record<string, unknown>,
  about?: FormAbout,
): Promise<{ form: APIModalInteractionResponseCallbackData } | { card: Card }> {
  const where = { place: placeOf(handling.interaction), person: personOf(handling) };
  const carried = carriedIn(command, values);
  const opened = await inTime(handling.bot.openForm(command, { ...where, carried }));
  if (!opened) return noForm(command, 'Its content didn’t load in time.');
  if ('card' in opened) return opened;
  const { begin } = opened;
  if (!isShowable(begin)) return noForm(command, 'Its text is too long for a form.');
  return { form: renderForm(command, { ...values, ...begin.carried }, begin, about) };
}

/** `undefined` if it takes too long for a form. */
export const inTime = <T>(opening: Promise<T>) => orLate(opening, BEGIN_LIMIT_MS);

const noForm = ({ name }: Command, why: string) => {
  const advice = `Try again, or type the values after /${name}.`;
  return { card: textCard('warning', 'Couldn’t open the form', `${why} ${advice}`) };
};
