import { loadavg } from 'node:os';
import { type Area, type BenchContext, runMeasures } from './area.ts';
import type { Finding } from './finding.ts';

/** The area of whole programs between platforms of the bench, from its measures. */
export function chatArea(
  measures: Record<string, (context: BenchContext) => Promise<Finding[]>>,
  remark: string,
): Area {
  return {
    measures: Object.keys(measures),
    async run(context) {
      const findings = await runMeasures(context, measures, context);
      context.note(remark);
      const [load = 0] = loadavg();
      context.note(
        `${load.toFixed(1)} processes wanted a core at the end, on average over a minute.`,
      );
      return findings;
    },
  };
}
