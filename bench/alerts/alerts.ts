import { loadavg } from 'node:os';
import type { Area, BenchContext } from '../shared/area.ts';
import { measureLimited } from './limited.ts';
import { measureLone } from './lone.ts';
import { measureStorm } from './storm.ts';
import { HEADER } from './times.ts';

const MEASURES: Record<string, (context: BenchContext) => Promise<string[][]>> = {
  lone: measureLone,
  limited: measureLimited,
  storm: measureStorm,
};

/** The whole program, from what its monitoring service sees to what comes to Slack and Discord. */
export const alerts: Area = {
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
      'Goals: a change is told within 6 s at p95; a limited channel adds nothing, own p95 under 2 s; 500 monitors are at most two messages a channel, the first within 10 s.',
    );
    note(
      'Own is from when the bot noted what it saw at the service to the message: the wait for its next check is not in it.',
    );
    const [load = 0] = loadavg();
    note(`${load.toFixed(1)} processes wanted a core at the end, on average over a minute.`);
    return { header: HEADER, rows };
  },
};
