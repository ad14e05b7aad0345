import { createLog } from '../app/log.ts';
import { isLoopback, readToolServers, type Settings, SettingsError } from '../app/settings.ts';
import { type Finding, ok, problem, shortName, warning } from '../bot/shared/finding.ts';
import { counted } from '../bot/shared/text-format.ts';
import { definitionIn, fingerprint } from '../bot/tool-servers/definition.ts';
import { type Pin, pinsCollection } from '../bot/tool-servers/pins.ts';
import { createToolServer } from '../clients/tool-server.ts';
import type { ListEntry } from '../clients/tool-server-values.ts';
import type { ToolServerSettings } from '../config/tool-servers.ts';
import { lookAtDocument } from '../store/lowdb/document-file.ts';

const MAX_NAMES = 12;

/** Checks the configured MCP servers: whether they respond, offer the configured tools, and have changed any. */
export async function checkToolServers(settings: Settings, version: string): Promise<Finding[]> {
  if (!settings.roles.has('bot') || settings.mcpConfigFile === undefined) return [];
  let servers: ToolServerSettings[];
  try {
    servers = await readToolServers(settings.mcpConfigFile, process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.message.split('\n').map((line) => problem('MCP servers', line));
  }
  if (servers.length === 0)
    return [warning('MCP servers', 'MCP_CONFIG: the file lists no servers')];
  const found = servers.map((server) => checkServer(server, { settings, version }));
  return (await Promise.all(found)).flat();
}

async function checkServer(
  server: ToolServerSettings,
  { settings, version }: { settings: Settings; version: string },
): Promise<Finding[]> {
  const { name, tools: allowed, investigate, url } = server;
  const check = `MCP server ${name}`;
  const client = createToolServer(server, { version });
  try {
    const { entries } = await client.list();
    const listed = new Map(entries.map((entry) => [entry.name, entry]));
    const kept = await pinsOf(name, settings);
    const pins = kept.pins ?? [];
    const states = allowed.map((tool) => stateOf(listed.get(tool), pins, tool));
    const named = (state: ReturnType<typeof stateOf>) =>
      allowed.filter((_, at) => states[at] === state);
    const mayChange = (tool: string) => {
      const entry = listed.get(tool);
      return !server.writes && entry && 'description' in entry && !definitionIn(entry).isReadOnly;
    };
    const good = `answers at ${client.address}; ${counted(entries.length, 'tool')}, ${named('on').length} of them on`;
    return [
      ok(check, good),
      ...unencrypted(check, url, server.headers),
      ...(kept.problem === undefined ? [] : [warning(check, kept.problem)]),
      ...(allowed.length > 0
        ? []
        : [
            warning(
              check,
              `None of its tools are on. Add some to \`tools\`: ${listOf([...listed.keys()])}.`,
            ),
          ]),
      ...about(
        check,
        named('missing'),
        "not found on the server; remove from `tools`, or ask the server's operator",
      ),
      ...about(
        check,
        named('bad'),
        'not usable because the schema is too long, too deep or missing',
      ),
      ...about(
        check,
        named('changed'),
        'changed, so off until someone accepts the change with /askwatch tools',
      ),
      ...about(
        check,
        investigate.filter(mayChange),
        'may change something, so investigations can’t use it; list the tools that do in `writes`',
      ),
    ];
  } catch (error) {
    const text = `${(error as Error).message} ${adviceOn(error)}`;
    return [problem(check, text), ...unencrypted(check, url, server.headers)];
  } finally {
    await client.close();
  }
}

function stateOf(entry: ListEntry | undefined, pins: readonly Pin[], tool: string) {
  if (!entry) return 'missing';
  if ('problem' in entry) return 'bad';
  const pin = pins.find((one) => one.tool === tool);
  const isSame = !pin || fingerprint(pin.definition) === fingerprint(definitionIn(entry));
  return isSame ? 'on' : 'changed';
}

function about(check: string, names: readonly string[], what: string): Finding[] {
  return names.length === 0 ? [] : [warning(check, `${listOf(names)}: ${what}.`)];
}

function listOf(names: readonly string[]): string {
  const some = names.slice(0, MAX_NAMES).map(shortName).join(', ');
  return names.length > MAX_NAMES ? `${some} and ${names.length - MAX_NAMES} more` : some;
}

function unencrypted(check: string, url: string, headers: object): Finding[] {
  const { protocol, hostname } = new URL(url);
  const isOpen = protocol === 'http:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''));
  if (!isOpen || Object.keys(headers).length === 0) return [];
  const text = 'Its headers are sent unencrypted. Use https if anyone else can read the traffic.';
  return [warning(check, text)];
}

function adviceOn(error: unknown): string {
  const { status } = error as { status?: number };
  return status === 401 || status === 403
    ? 'Check its `headers` in the file of MCP_CONFIG.'
    : 'Check its `url` in the file of MCP_CONFIG, and that the server is running there.';
}

/** Reads the stored tool definitions of a server, or the reason why they can't be read. */
async function pinsOf(
  name: string,
  { database, dataDir }: Settings,
): Promise<{ pins?: readonly Pin[]; problem?: string }> {
  try {
    if (!database) return { pins: (await lookAtDocument(dataDir, pinsCollection, name))?.pins };
    const inspection = await import('../store/postgres/inspection.ts');
    const log = createLog({ level: 'silent', secrets: [] });
    const found = await inspection.lookAtDocument({ ...database, log }, pinsCollection, name);
    return { pins: found?.pins };
  } catch (error) {
    const why = (error as Error).message;
    return {
      problem: `Cannot tell whether its tools changed, because their stored definitions cannot be read: ${why}`,
    };
  }
}
