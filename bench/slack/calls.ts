import { setTimeout as pause } from 'node:timers/promises';
import type { BenchContext } from '../shared/area.ts';
import { type Finding, findingOfOne } from '../shared/finding.ts';
import type { Question } from '../shared/questions.ts';
import { type SlackBed, startSlackBed } from './bed.ts';

const SECONDS = { full: 60, quick: 15 };
const CHUNK_MS = 200;

/** Fewer than 55. */
const MOST_CALLS = 54;
/** The question, the first note and the last view are there however long the answer is. */
const FIXED_CALLS = 3;

/** Answers of so many characters in all: one that fits into a message, and one that needs several. */
const CASES = [
  { name: 'channel', title: 'one message, in a channel', characters: 3_000, direct: false },
  { name: 'direct', title: 'one message, in a direct message', characters: 3_000, direct: true },
  { name: 'several', title: 'several messages, in a channel', characters: 12_000, direct: false },
];

/**
 * Counts Web API calls of a long answer, by how it is shown. The answers are generated at the same time, each in its own workspace,
 * because answers in one workspace share its limit of edits.
 */
export async function measureCalls(context: BenchContext): Promise<Finding[]> {
  const seconds = SECONDS[context.quick ? 'quick' : 'full'];
  const calls = await Promise.all(
    CASES.map(async ({ characters, direct }) => {
      const bed = await startSlackBed(context);
      bed.pace(CHUNK_MS);
      const chunks = (seconds * 1000) / CHUNK_MS - 1;
      const chunk = `${'x'.repeat(characters / (chunks + 1) - 1)} `;
      const asked = await bed.ask({ chunks: Array(chunks).fill(chunk), direct });
      await pause(seconds * 1000);
      await bed.shown([asked]);
      await bed.stop();
      return callsOf(bed, asked);
    }),
  );
  if (context.quick) {
    context.note(
      `The quick run's answers are written for ${seconds} s; the goal for their calls is scaled from that for ${SECONDS.full} s.`,
    );
  }
  const atMost = FIXED_CALLS + ((MOST_CALLS - FIXED_CALLS) * seconds) / SECONDS.full;
  return CASES.map(({ name, title }, at) =>
    findingOfOne(
      {
        ...{ name: `calls-${name}`, title: `calls, ${seconds} s, ${title}` },
        ...{ unit: '', goal: { atMost } },
      },
      calls[at] ?? Number.NaN,
    ),
  );
}

/** Whatever the outcome: Slack counts a refused call too. */
const callsOf = ({ slack }: SlackBed, question: Question) =>
  slack.calls.filter(({ args }) => (args.channel ?? args.channel_id) === question.channel).length;
