import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { nearestWord } from '../../contracts/plain-words.ts';
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
import {
  briefUsageOf,
  type Command,
  GROUPS,
  topLevelNames,
  typedFieldsOf,
  usageOf,
} from './command.ts';

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

/** Commands in a group of help; a larger group ends with a line for the others. */
const MAX_GROUP_ROWS = 5;

const HINT = 'Put a value with spaces in quotes: name="My shop".';

/** The most useful commands of each group. */
export function helpCard(commands: readonly Command[], pagesUrl?: string): Card {
  const rows = GROUPS.flatMap((group) => {
    const all = commands.filter((command) => command.group === group);
    const shown = all.length > MAX_GROUP_ROWS ? all.slice(0, MAX_GROUP_ROWS - 1) : all;
    const others = all.slice(shown.length).map(lastWordOf);
    const lines = [
      ...shown.map((command) => [briefUsageOf(command), command.summary]),
      ...(others.length > 0 ? [[`/askwatch help ${group}`, `More: ${others.join(', ')}`]] : []),
    ];
    return lines.map((line, at) => [at === 0 ? capital(group) : '', ...line]);
  });
  return {
    tone: 'info',
    title: 'What Askwatch can do',
    parts: [
      tablePart(['', 'Command', 'What it does'], rows),
      textPart('Everything about one command: /askwatch help monitor add'),
    ],
    footer: `${HINT} The documentation is in the folder docs of Askwatch; begin with docs/commands.md.`,
    link:
      pagesUrl === undefined
        ? undefined
        : { label: 'Open the status page', url: `${pagesUrl}/status` },
  };
}

export const commandsCard = (commands: readonly Command[], title: string): Card => ({
  tone: 'info',
  title,
  parts: [
    tablePart(
      ['Command', 'What it does'],
      commands.map((command) => [briefUsageOf(command), command.summary]),
    ),
  ],
  footer: `${HINT} All inputs of one command: /askwatch help monitor add`,
});

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Explains a line that names no command: names the nearest one, or the ones that begin like it. */
export function unknownCard(typed: string, commands: readonly Command[]): Card {
  const [first = '', second] = typed.toLowerCase().split(/\s+/, 2);
  if (first === '') return helpCard(commands);
  const heads = topLevelNames(commands);
  const head = heads.includes(first) ? first : nearestWord(first, heads);
  const below = commands.filter(({ name }) => name.startsWith(`${head} `));
  const isGroup = below.length > 0 && second === undefined;
  if (isGroup && head === first) return commandsCard(below, `Commands of /${head}`);
  const words = below.length > 0 && second !== undefined ? `${first} ${second}` : first;
  const unknown = `I don't know /${shortened(words, 60)}`;
  const tone = 'warning';
  if (isGroup) return { ...commandsCard(below, `${unknown}. Did you mean /${head}?`), tone };
  const among = below.length > 0 ? below : commands;
  const last = nearestWord(
    below.length > 0 ? words.slice(first.length + 1) : first,
    among.map(lastWordOf),
  );
  const nearest = among.find((command) => lastWordOf(command) === last);
  if (nearest) {
    return { ...usageCard(nearest), tone, title: `${unknown}. Did you mean /${nearest.name}?` };
  }
  const all = below.map(({ name }) => `/${name}`).join(', ');
  return textCard(
    tone,
    unknown,
    `${all === '' ? '' : `Commands: ${all}. `}For help: /askwatch help`,
  );
}

const lastWordOf = ({ name }: Command) => name.slice(name.lastIndexOf(' ') + 1);

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
