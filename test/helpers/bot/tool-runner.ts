import { onTestFinished } from 'vitest';
import { tools } from '../../../src/bot/tools/registry.ts';
import { checkToolInput, runTool } from '../../../src/bot/tools/run-tool.ts';
import type { ToolContext } from '../../../src/bot/tools/tool.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';

/** Runs reading tools over a service as `/ask` does; `more` overrides the context. */
export function toolRunner(
  { url, key }: { url: string; key: string },
  more: Partial<ToolContext> = {},
) {
  const monitoring = createMonitoringClient({ baseUrl: url, apiKey: key });
  onTestFinished(() => monitoring.close());
  return async (name: string, input: object = {}) => {
    const tool = tools.find((one) => one.name === name);
    if (tool?.access !== 'reads') throw new Error(`There is no tool ${name} that reads.`);
    const checked = checkToolInput(tool, input);
    const result = await runTool(tool, checked, {
      monitoring,
      channels: { describe: async () => 'It hears all monitors.' },
      usageLog: { since: async () => [] },
      alertPlaces: [],
      place: { platform: 'console', channel: 'general' },
      nowMs: Date.now(),
      signal: new AbortController().signal,
      ...more,
    });
    return { ...result, what: tool.what(checked) };
  };
}
