import type { Command, FormBegin } from '../../bot/commands/command.ts';
import { formFields, formOf, formProblems, withFirst } from '../../bot/commands/form.ts';
import type { Bot } from '../../bot/platform.ts';
import type { Invocation, Reply } from '../../bot/shared/invocation.ts';
import type { Person, Place } from '../../bot/shared/place.ts';
import { HttpError } from '../../http/errors.ts';
import {
  type Outcome,
  ShownCard,
  type ShownForm,
  type SubmittedForm,
} from '../shared/api-types.ts';

/**
 * The form of the command that a line names with nothing after it. None for those who may not have it: the command itself
 * tells them why.
 */
export async function formFor(
  bot: Bot,
  line: string,
  where: { place: Place; person: Person },
): Promise<ShownForm | undefined> {
  const command = line.startsWith('/') ? formOf(line, bot.commands) : undefined;
  if (!command) return undefined;
  const opened = await bot.openForm(command, where);
  return 'card' in opened ? undefined : shownForm(command, opened.begin);
}

/** The form that a press of a button opens besides what it does, if its person gets it now. */
export async function formOfPress(
  bot: Bot,
  { request, ...where }: Pick<Invocation, 'request' | 'place' | 'person' | 'thread'>,
): Promise<ShownForm | undefined> {
  const opened = await bot.formOfPress(request, async () => where);
  return opened && shownForm(opened.command, opened.begin, opened.carried);
}

/** The whole form at once, for whatever is chosen in it: so it changes without asking. Pure. */
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
    ...(decides !== undefined && { decides }),
    ...(Object.keys(carried).length > 0 && { carried }),
    fields: Object.fromEntries((choices ?? ['']).map((choice) => [choice, fieldsWith(choice)])),
    values: Object.fromEntries(Object.entries(first).map(([name, value]) => [name, String(value)])),
  };
}

/** What is wrong with a form that was sent, if anything is. Throws `HttpError` for one that is none. */
export function problemsOf(
  bot: Bot,
  { command: name, values }: SubmittedForm,
): Outcome | undefined {
  const command = bot.forms.find((one) => one.name === name);
  if (!command) throw new HttpError(400, 'invalid_value', 'There is no such form.');
  const problems = formProblems(command, values);
  return Object.keys(problems).length > 0 ? { shown: 'problems', problems } : undefined;
}

/** What only the sender sees and is not good is something to correct: the form shows it, and stays as it is. Pure. */
export function refusalOf(reply: Reply): Outcome | undefined {
  return reply.kind === 'card' && reply.private && reply.card.tone !== 'good'
    ? { shown: 'refused', card: ShownCard.parse(reply.card) }
    : undefined;
}
