import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type Card, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { explainError } from '../shared/explain-error.ts';
import type { Command } from './command.ts';

/** What a person is told of an error of a command; what is not theirs to know is in the log. */
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

/** What a person is told when nobody foresaw what happened: the id under which the log tells. */
export function failedCard(what: string, error: unknown, log: Logger): Card {
  const logId = randomUUID().slice(0, 8);
  log.error({ err: error, logId }, what);
  const text = 'Try again. If it happens again, give the log id below to your Askwatch admin.';
  return { ...textCard('bad', 'Something went wrong', text), footer: `Log id ${logId}` };
}

function problemText(command: Command, text: string, isTyped: boolean): Card {
  // Nobody typed what a button does.
  const title = isTyped ? `/${command.name} did not work` : 'That did not work';
  return textCard('warning', title, text);
}
