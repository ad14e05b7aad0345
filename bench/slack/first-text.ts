import { setTimeout as pause } from 'node:timers/promises';
import type { BenchContext } from '../shared/area.ts';
import { type Finding, findingsOfTimes } from '../shared/finding.ts';
import type { Question } from '../shared/questions.ts';
import { startSlackBed } from './bed.ts';

const ANSWERS = { full: 14, quick: 3 };

/** The model thinks for as long before its first text. */
const CHUNK_MS = 100;
/** Two edits each are within the 50 a minute of a workspace. No multiple of what a loop or a timer may keep to. */
const APART_MS = 2_687;

const CASES = {
  'in a channel': { direct: false, name: 'channel', atMost: 1_200 },
  'in a direct message': { direct: true, name: 'direct', atMost: 100 },
};
type Case = keyof typeof CASES;

/** From the model's first text to the message that shows it, for questions one after another. */
export async function measureFirstText(context: BenchContext): Promise<Finding[]> {
  const bed = await startSlackBed(context);
  bed.pace(CHUNK_MS);
  const names = Object.keys(CASES) as Case[];
  const asked: Record<Case, Question[]> = { 'in a channel': [], 'in a direct message': [] };
  for (let at = 0; at < ANSWERS[context.quick ? 'quick' : 'full']; at += 1) {
    for (const name of names) {
      asked[name].push(await bed.ask({ chunks: ['It is short.'], direct: CASES[name].direct }));
      await pause(APART_MS);
    }
  }
  await bed.shown(names.flatMap((name) => asked[name]));
  const findings = names.flatMap((name) =>
    findingsOfTimes({
      ...{ name: `first-text-${CASES[name].name}`, title: `first text ${name}` },
      timesMs: [bed.firstTextsMs(asked[name])],
      shares: { p50: undefined, p95: { atMost: CASES[name].atMost } },
    }),
  );
  await bed.stop();
  return findings;
}
