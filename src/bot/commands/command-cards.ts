import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import {
  type Card,
  type CardPart,
  codePart,
  factsPart,
  tablePart,
  textCard,
  textPart,
} from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { explainError } from '../shared/explain-error.ts';
import { shortened } from '../shared/text-format.ts';
import { type Command, typedFieldsOf, usageOf } from './command.ts';

/** Inputs and examples of a command. */
export function usageCard(command: Command): Card {
  const fields = typedFieldsOf(command);
  const facts = fields.map(({ name, description, required }) => ({
    label: required ? name : `${name} (optional)`,
    value: description,
  }));
  const inputs = facts.length === 0 ? [] : [factsPart(...facts)];
  return {
    tone: 'info',
    title: `How to use /${command.name}`,
    parts: [textPart(command.summary), ...inputs, ...examples(command)],
  };
}

export function problemCard(command: Command, problems: readonly string[]): Card {
  return {
    tone: 'warning',
    title: `/${command.name} did not work`,
    parts: [textPart(problems.join('\n')), ...examples(command, 1)],
  };
}

export function commandsCard(commands: readonly Command[], title = 'What Askwatch can do'): Card {
  const rows = commands.map((command) => [usageOf(command), command.summary]);
  return {
    tone: 'info',
    title,
    parts: [tablePart(['Command', 'What it does'], rows)],
    footer: 'Put a value with spaces in quotes: name="My shop".',
  };
}

/** Lists similar commands. */
export function unknownCard(typed: string, near: readonly Command[]): Card {
  if (typed === '') return commandsCard(near);
  const isGroup = near.some(({ name }) => name.startsWith(`${typed.toLowerCase()} `));
  if (isGroup) return commandsCard(near, `Commands of /${typed.toLowerCase()}`);
  return {
    ...commandsCard(near, `Unknown command “/${shortened(typed, 60)}”`),
    tone: 'warning',
  };
}

function examples(command: Command, count?: number): CardPart[] {
  const lines = [usageOf(command), ...(command.examples ?? []).slice(0, count)];
  return [codePart(lines.join('\n'))];
}

/** Explains an error of a command to its person. Details are only in the log. */
export function errorCard(
  error: unknown,
  command: Command,
  { isTyped, log }: { isTyped: boolean; log: Logger },
): Card {
  if (error instanceof CommandError) return problemText(command, error.message, isTyped);
  const service = command.name.startsWith('ask') ? 'model gateway' : 'monitoring service';
  const explained = explainError(error, service);
  if (!explained) return failedCard('a command failed', error, log);
  log.warn({ err: error, command: command.name }, 'a command could not reach its service');
  return problemText(command, explained, isTyped);
}

/** Says that the database is away, or shows the id of a log line for an error that nothing explains. */
export function failedCard(what: string, error: unknown, log: Logger): Card {
  const explained = explainError(error, 'monitoring service');
  if (explained !== undefined) {
    log.warn({ err: error }, what);
    return textCard('warning', 'That did not work', explained);
  }
  const logId = randomUUID().slice(0, 8);
  log.error({ err: error, logId }, what);
  const text = 'Try again. If it happens again, give the log id below to your Askwatch admin.';
  return { ...textCard('bad', 'Something went wrong', text), footer: `Log id ${logId}` };
}

function problemText(command: Command, text: string, isTyped: boolean): Card {
  const title = isTyped ? `/${command.name} did not work` : 'That did not work';
  return textCard('warning', title, text);
}
