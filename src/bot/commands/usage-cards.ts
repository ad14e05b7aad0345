import { type Card, type CardPart, factsPart, tablePart, textPart } from '../shared/card.ts';
import { shortened } from '../shared/text-format.ts';
import { type Command, typedFieldsOf, usageOf } from './command.ts';

/** How one command is used: its inputs and lines that work. */
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

/** What is wrong with what was typed, and how the command is typed. */
export function problemCard(command: Command, problems: readonly string[]): Card {
  return {
    tone: 'warning',
    title: `/${command.name} did not work`,
    parts: [textPart(problems.join('\n')), ...examples(command, 1)],
  };
}

/** Commands with what they do. */
export function commandsCard(commands: readonly Command[], title = 'What Askwatch can do'): Card {
  const rows = commands.map((command) => [usageOf(command), command.summary]);
  return {
    tone: 'info',
    title,
    parts: [tablePart(['Command', 'What it does'], rows)],
    footer: 'Put a value with spaces in quotes: name="My shop".',
  };
}

/** What to show for a line that names no command; `near` are the commands that may be meant. */
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
  return [{ kind: 'code', text: lines.join('\n') }];
}
