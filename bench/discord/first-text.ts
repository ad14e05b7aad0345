import { setTimeout as pause } from 'node:timers/promises';
import { rowOfTimes } from '../gateway/chat-table.ts';
import type { BenchContext } from '../shared/area.ts';
import type { Question } from '../shared/questions.ts';
import { startDiscordBed } from './bed.ts';

const ANSWERS = { full: 50, quick: 3 };

/** The model thinks for as long before its first text. */
const CHUNK_MS = 100;
/** No multiple of what a loop or a timer may keep to. */
const APART_MS = 387;

const GOAL = 'p95 < 1200';

/** From the model's first text to the message that shows it, for questions one after another. */
export async function measureFirstText(context: BenchContext): Promise<string[][]> {
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
  const rows = [
    rowOfTimes('first text in a thread', bed.firstTextsMs(open), GOAL),
    rowOfTimes('first text of a private answer', bed.firstTextsMs(unseen), GOAL),
  ];
  await bed.stop();
  return rows;
}
