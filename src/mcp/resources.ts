import { CommandError } from '../bot/shared/errors.ts';
import { shortened } from '../bot/shared/text-format.ts';
import { getMonitor } from '../bot/tools/get-monitor.ts';
import { listIncidents } from '../bot/tools/list-incidents.ts';
import { listMonitors } from '../bot/tools/list-monitors.ts';
import { checkToolInput, runTool } from '../bot/tools/run-tool.ts';
import { isoTime, type ReadingTool, type ToolContext } from '../bot/tools/tool.ts';
import { type Caller, doFor, Refusal } from './caller.ts';
import { markdownOf } from './markdown.ts';

/** Monitors of one page, as many as the tool lists at once. */
const PAGE_COUNT = 50;

/** Longer addresses are nobody's. */
const MAX_URI = 2_048;

const MARKDOWN = 'text/markdown';

const SECOND_MS = 1_000;

export const templates = [
  {
    name: 'monitor',
    title: 'A monitor',
    uriTemplate: 'askwatch://monitors/{id}',
    description: 'Everything known about one monitor, by id, with its last checks.',
    mimeType: MARKDOWN,
  },
  {
    name: 'incident',
    title: 'An incident',
    uriTemplate: 'askwatch://incidents/{id}',
    description:
      'One outage of a monitor. The id is monitor_id, an @ and started_at, as returned by list_incidents.',
    mimeType: MARKDOWN,
  },
];

/** Returns a page of monitors; `cursor` comes from the previous page. Throws a `Refusal`. */
export async function listResources(
  caller: Caller,
  { cursor, gone }: { cursor: string | undefined; gone: AbortSignal },
) {
  if (!/^\d{0,5}$/.test(cursor ?? '')) {
    throw new Refusal('Unknown cursor. Ask for the list without one.');
  }
  const asked = { sort: 'name', limit: PAGE_COUNT, offset: Number(cursor ?? 0) };
  const listed = await doFor(caller, gone, (context) =>
    run<ListedMonitors>(listMonitors, asked, context),
  );
  const { monitors = [], next_offset: next } = listed ?? {};
  return {
    resources: monitors.map(({ id, name, status }) => ({
      uri: monitorUri(id),
      name: id,
      title: shortened(name, 200),
      description: `A monitor, ${shortened(status, 40)}`,
      mimeType: MARKDOWN,
    })),
    ...(next !== undefined && { nextCursor: String(next) }),
  };
}

/** Returns the resource at an address; `undefined` if there is none. Throws a `Refusal`. */
export async function readResource(
  caller: Caller,
  { uri, gone }: { uri: string; gone: AbortSignal },
) {
  if (uri.length > MAX_URI) return undefined;
  const [, kind, encoded = ''] = /^askwatch:\/\/(monitors|incidents)\/([^/?#]+)$/.exec(uri) ?? [];
  const id = decoded(encoded);
  if (kind === undefined || id === undefined) return undefined;
  const read = kind === 'monitors' ? readMonitor : readIncident;
  const text = await doFor(caller, gone, (context) => read(id, context));
  return text === undefined ? undefined : { contents: [{ uri, mimeType: MARKDOWN, text }] };
}

async function readMonitor(id: string, context: ToolContext) {
  const shown = await run<ShownMonitor>(getMonitor, { monitor: id }, context);
  // Tools take names, too, which are no address.
  if (shown?.monitor.id !== id) return undefined;
  const { monitor, incident, ...rest } = shown;
  const resource = incident && incidentUri(id, incident.started_at);
  return markdownOf(monitor.name, {
    ...{ ...monitor, ...rest },
    ...(incident && { incident: { ...incident, resource } }),
  });
}

async function readIncident(id: string, context: ToolContext) {
  const [, monitor, started = ''] = /^(.+)@(.+)$/.exec(id) ?? [];
  const fromMs = Date.parse(started);
  if (Number.isNaN(fromMs) || fromMs >= context.nowMs) return undefined;
  const asked = { monitor, from: isoTime(fromMs), to: isoTime(fromMs + SECOND_MS), limit: 100 };
  const listed = await run<ListedIncidents>(listIncidents, asked, context);
  const found = listed?.incidents.find(
    (one) => one.monitor_id === monitor && Date.parse(one.started_at) === fromMs,
  );
  if (!found) return undefined;
  return markdownOf(`Incident of ${found.monitor}`, {
    ...found,
    resource: monitorUri(found.monitor_id),
  });
}

const monitorUri = (id: string) => `askwatch://monitors/${encodeURIComponent(id)}`;

const incidentUri = (monitor: string, startedAt: string) =>
  `askwatch://incidents/${encodeURIComponent(monitor)}@${startedAt}`;

type ListedMonitors = {
  monitors: Array<{ id: string; name: string; status: string }>;
  next_offset?: number;
};
type ShownMonitor = {
  monitor: { id: string; name: string };
  incident?: { started_at: string };
};
type ListedIncidents = {
  incidents: Array<{ monitor_id: string; monitor: string; started_at: string }>;
};

/** Runs a tool; `undefined` if the monitor or incident doesn't exist. */
async function run<Output>(tool: ReadingTool, input: object, context: ToolContext) {
  try {
    const { output } = await runTool(tool, checkToolInput(tool, input), context);
    return output as Output;
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

/** `undefined` for what is no text. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
