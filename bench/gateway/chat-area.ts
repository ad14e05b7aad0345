import { loadavg } from 'node:os';
import type { Area, BenchContext } from '../shared/area.ts';
import { headerOf } from './chat-table.ts';

/** The area of a chat platform, from its measures. */
export function chatArea(
  platform: string,
  measures: Record<string, (context: BenchContext) => Promise<string[][]>>,
  remark: string,
): Area {
  return {
    measures: Object.keys(measures),
    async run(context) {
      const { only, progress, note } = context;
      const rows: string[][] = [];
      for (const [name, measure] of Object.entries(measures)) {
        if (only !== undefined && name !== only) continue;
        progress(name);
        try {
          rows.push(...(await measure(context)));
        } catch (cause) {
          throw new Error(`${name}: ${(cause as Error).message}`, { cause });
        }
      }
      note(remark);
      const [load = 0] = loadavg();
      note(`${load.toFixed(1)} processes wanted a core at the end, on average over a minute.`);
      return { header: headerOf(platform), rows };
    },
  };
}
