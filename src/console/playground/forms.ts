import type { Command, FormBegin } from '../../bot/commands/command.ts';
import { formFields, formOf, formProblems, withFirst } from '../../bot/commands/form.ts';
import type { Bot } from '../../bot/platform.ts';
import type { Invocation, Reply } from '../../bot/shared/invocation.ts';
import type { Person, Place } from '../../bot/shared/place.ts';
import { HttpError } from '../../http/errors.ts';
import {
  type FormSubmission,
  type InteractionOutcome,
  ShownCard,
  type ShownForm,
} from '../shared/api-types.ts';

/**
 * The form of a command that was typed without any input. A person without the right to it gets no form: the command's own
 * reply tells them why.
 */
export async function formFor(
  bot: Bot,
  line: string,
  where: { place: Place; person: Person },
): Promise<ShownForm | undefined> {
  const wanted = line.startsWith('/') ? formOf(line, bot.commands) : undefined;
  if (!wanted) return undefined;
  const opened = await bot.openForm(wanted.command, { ...where, carried: wanted.carried });
  if ('card' in opened) return undefined;
  const { begin } = opened;
  return shownForm(wanted.command, begin, begin.carried);
}

export async function formOfPress(
  bot: Bot,
  { request, ...where }: Pick<Invocation, 'request' | 'place' | 'person' | 'thread'>,
): Promise<{ form: ShownForm; isAll: boolean } | undefined> {
  const opened = await bot.formOfPress(request, async () => where);
  if (!opened) return undefined;
  const { command, begin, carried, isAll } = opened;
  return { form: shownForm(command, begin, carried), isAll };
}

/** All fields of the form, for every choice, so that the page needs no further request. */
function shownForm(
  command: Command,
  begin: FormBegin,
  carried: Record<string, string> = {},
): ShownForm {
  const { form } = command;
  const decides = form?.chooses?.input;
  const choices = formFields(command, {}, begin).find(({ name }) => name === decides)?.choices;
  const fieldsWith = (choice: string) => {
    const chosen = { ...carried, ...(decides !== undefined && { [decides]: choice }) };
    return formFields(command, chosen, begin);
  };
  const first = withFirst(command, { ...begin.values });
  return {
    command: command.name,
    title: form?.title ?? command.name,
    send: form?.send ?? 'Send',
    decides,
    carried,
    fields: Object.fromEntries((choices ?? ['']).map((choice) => [choice, fieldsWith(choice)])),
    values: Object.fromEntries(Object.entries(first).map(([name, value]) => [name, String(value)])),
  };
}

/** The problems of a submitted form, if it has any. Throws `HttpError` for an unknown form. */
export function problemsOf(
  bot: Bot,
  { command: name, values }: FormSubmission,
): InteractionOutcome | undefined {
  const command = bot.forms.find((one) => one.name === name);
  if (!command) throw new HttpError(400, 'invalid_value', 'There is no such form.');
  const problems = formProblems(command, values);
  return Object.keys(problems).length > 0 ? { shown: 'problems', problems } : undefined;
}

/** A private card that isn't good news is a refusal: the form stays open and shows it. */
export function refusalOf(reply: Reply): InteractionOutcome | undefined {
  return reply.kind === 'card' && reply.private && reply.card.tone !== 'good'
    ? { shown: 'refused', card: ShownCard.parse(reply.card) }
    : undefined;
}
