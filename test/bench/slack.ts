import { loadavg } from 'node:os';
import type { Area, BenchContext } from './area.ts';
import { measureAcks } from './slack-acks.ts';
import { measureCalls } from './slack-calls.ts';
import { measureFirstText } from './slack-first-text.ts';
import { measureMemory } from './slack-memory.ts';
import { HEADER } from './slack-table.ts';

const MEASURES: Record<string, (context: BenchContext) => Promise<string[][]>> = {
  acks: measureAcks,
  'first-text': measureFirstText,
  calls: measureCalls,
  memory: measureMemory,
};

/** The whole program over Socket Mode, between a Slack and a model gateway of the bench. */
export const slack: Area = {
  measures: Object.keys(MEASURES),
  async run(context) {
    const { only, progress, note } = context;
    const rows: string[][] = [];
    for (const [name, measure] of Object.entries(MEASURES)) {
      if (only !== undefined && name !== only) continue;
      progress(name);
      try {
        rows.push(...(await measure(context)));
      } catch (cause) {
        throw new Error(`${name}: ${(cause as Error).message}`, { cause });
      }
    }
    note(
      'Commands come 40 a second. The figures of acks are medians over the passes. Slack and the model answer at once: what a network takes is not in the figures, nor what Slack limits.',
    );
    const [load = 0] = loadavg();
    note(`${load.toFixed(1)} processes wanted a core at the end, on average over a minute.`);
    return { header: HEADER, rows };
  },
};
