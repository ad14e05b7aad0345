import { setTimeout as pause } from 'node:timers/promises';
import type { BenchContext } from '../shared/area.ts';
import { type Finding, findingsOfTimes } from '../shared/finding.ts';
import type { Question } from '../shared/questions.ts';
import { startDiscordBed } from './bed.ts';

const ANSWERS = { full: 30, quick: 3 };

/** The model thinks for as long before its first text. */
const CHUNK_MS = 100;
/** No multiple of what a loop or a timer may keep to. */
const APART_MS = 387;

const GOAL = { atMost: 1_200 };

/** From the model's first text to the message that shows it, for questions one after another. */
export async function measureFirstText(context: BenchContext): Promise<Finding[]> {
  const bed = await startDiscordBed(context);
  bed.pace(CHUNK_MS);
  const open: Question[] = [];
  const unseen: Question[] = [];
  const chunks = ['It is short.'];
  for (let at = 0; at < ANSWERS[context.quick ? 'quick' : 'full']; at += 1) {
    open.push(await bed.ask({ chunks }));
    await pause(APART_MS);
    unseen.push(await bed.ask({ chunks, isPrivate: true }));
    await pause(APART_MS);
  }
  await bed.shown([...open, ...unseen]);
  const findings = [
    ...findingsOfTimes({
      ...{ name: 'first-text-thread', title: 'first text in a thread' },
      timesMs: [bed.firstTextsMs(open)],
      shares: { p50: undefined, p95: GOAL },
    }),
    ...findingsOfTimes({
      ...{ name: 'first-text-private', title: 'first text of a private answer' },
      timesMs: [bed.firstTextsMs(unseen)],
      shares: { p50: undefined, p95: GOAL },
    }),
  ];
  await bed.stop();
  return findings;
}
