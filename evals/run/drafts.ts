import { z } from 'zod';

/** A rated answer, as a line of `askwatch feedback export` has it, or as one writes it by hand. */
const Feedback = z.looseObject({
  /** Absent where only ratings are kept. */
  question: z.string().min(1).optional(),
  answer: z.string().default(''),
  /** Names of the tools that were called. */
  tools: z.array(z.string()).default([]),
  /** Counts of 👍 and 👎; absent in lines written by hand. */
  up: z.number().optional(),
  down: z.number().optional(),
  /** Comments of people who rated it 👎. */
  wrong: z
    .array(z.looseObject({ reason: z.string().optional(), what: z.string().optional() }))
    .default([]),
});
type Feedback = z.infer<typeof Feedback>;

/** Line ends in TypeScript. */
const LINE_END = /\r\n|[\n\r\u2028\u2029]/;

/**
 * Drafts cases from answers rated 👎, as TypeScript for a file in `cases/`. They are comments until someone adds what would have
 * been right, because a case without criteria always passes. The last line counts the answers that were left out. Throws for an
 * invalid line.
 */
export function draftsOf(lines: string): string {
  const all = lines
    .split('\n')
    .map((line, at) => ({ line, number: at + 1 }))
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => ({ number, feedback: read(line, number) }));
  const bad = all.filter(({ feedback: { down } }) => down !== 0);
  const drafts = bad.flatMap(({ feedback: { question, ...feedback }, number }) =>
    question === undefined ? [] : [draftOf({ ...feedback, question }, number)],
  );
  const leftOut = [
    ...counted(all.length - bad.length, 'without 👎'),
    ...counted(bad.length - drafts.length, 'of which only ratings are kept'),
  ];
  const note = leftOut.length > 0 ? [`// Left out: ${leftOut.join(', ')}.`] : [];
  return [...drafts, ...note].join('\n');
}

const counted = (count: number, what: string) => (count === 0 ? [] : [`${count} ${what}`]);

function read(line: string, number: number): Feedback {
  try {
    const feedback = Feedback.parse(JSON.parse(line));
    if (feedback.question !== undefined || feedback.down !== undefined) return feedback;
  } catch {
    // The next check reports it.
  }
  throw new Error(
    `Line ${number} is no feedback: it needs a question, and may have answer and tools.`,
  );
}

function draftOf(
  { question, answer, tools, wrong }: Feedback & { question: string },
  number: number,
): string {
  const looks = [...new Set(tools)].map((name) => `tool(${JSON.stringify(name)})`).join(', ');
  const complaints = wrong.map(({ reason, what }) =>
    [reason, what].filter((one) => one !== undefined).join(': '),
  );
  return [
    '{',
    `  id: 'draft-${number}',`,
    `  question: ${JSON.stringify(question).replace(/[\u2028\u2029]/g, escaped)},`,
    '  tags: [],',
    '  // What was answered:',
    ...commented(answer),
    ...(complaints.length > 0 ? ['  // What was wrong:', ...complaints.flatMap(commented)] : []),
    `  criteria: [${looks === '' ? '' : `looked(${looks})`}],`,
    '},',
  ]
    .map((line) => `// ${line}`)
    .join('\n');
}

const commented = (text: string) => text.split(LINE_END).map((line) => `  // ${line}`);

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16)}`;
