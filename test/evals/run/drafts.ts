import { z } from 'zod';

/** An answer that somebody was not content with, as one line of JSON has it. */
const Feedback = z.looseObject({
  question: z.string().min(1),
  answer: z.string().default(''),
  /** Names of the tools that were called. */
  tools: z.array(z.string()).default([]),
});

/**
 * Drafts of cases, as TypeScript to be put into a file of `cases/`. They stand in comments until somebody has said what would
 * have been right: a case without criteria passes whatever the answer is. Throws where a line is no feedback.
 */
export function draftsOf(lines: string): string {
  const drafts = lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, at) => draftOf(read(line, at + 1), at + 1));
  return drafts.join('\n');
}

function read(line: string, number: number): z.infer<typeof Feedback> {
  try {
    return Feedback.parse(JSON.parse(line));
  } catch {
    throw new Error(
      `Line ${number} is no feedback: it needs a question, and may have answer and tools.`,
    );
  }
}

function draftOf({ question, answer, tools }: z.infer<typeof Feedback>, number: number): string {
  const looks = tools.map((name) => `tool(${JSON.stringify(name)})`).join(', ');
  return [
    '{',
    `  id: 'draft-${number}',`,
    `  question: ${JSON.stringify(question)},`,
    '  tags: [],',
    '  // What was answered:',
    ...answer.split('\n').map((line) => `  // ${line}`),
    `  criteria: [${looks === '' ? '' : `looked(${looks})`}],`,
    '},',
  ]
    .map((line) => `// ${line}`)
    .join('\n');
}
