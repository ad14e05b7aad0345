import type { Page } from 'playwright-core';

interface TraceEvent {
  ph: string;
  name: string;
  pid: number;
  tid: number;
  /** Time of the processor that it took on its thread, in microseconds. */
  tdur?: number;
  args: { name?: string };
}

/**
 * The longest time in a row, in milliseconds, for which `work` held the page's own thread. It is the processor's time, so
 * that a busy machine does not count. Source: Chrome DevTools Protocol, "Tracing".
 */
export async function longestTaskMs(page: Page, work: () => Promise<void>): Promise<number> {
  const client = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  client.on('Tracing.dataCollected', ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]));
  });
  const traceConfig = { includedCategories: ['toplevel'], excludedCategories: ['*'] };
  await client.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig });
  await work();
  const complete = new Promise((resolve) => client.once('Tracing.tracingComplete', resolve));
  await client.send('Tracing.end');
  await complete;
  await client.detach();
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const main = events
    .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
    .map(threadOf);
  const tasks = events.filter(
    (event) => event.ph === 'X' && event.name.endsWith('RunTask') && main.includes(threadOf(event)),
  );
  if (tasks.length === 0) throw new Error('The trace has no tasks.');
  // A busy trace has more tasks than a call may have arguments.
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur), 0) / 1_000;
}
