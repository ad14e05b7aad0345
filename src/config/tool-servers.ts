// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as the file has them
import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import { type Place, parsePlace } from '../bot/shared/place.ts';
import type { ToolServerAddress } from '../clients/tool-server-values.ts';
import type { PlatformSettings } from './platform-settings.ts';
import { SettingsError } from './settings.ts';

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_SERVERS = 16;

/** The most tools of all servers together. Providers accept 128 functions, including Askwatch's own. */
const MAX_TOOLS = 100;

/** Headers that the MCP protocol or HTTP sets. */
const RESERVED =
  /^(accept|accept-encoding|connection|content-.*|expect|host|keep-alive|mcp-.*|te|trailer|transfer-encoding|upgrade)$/i;

export interface ToolServerSettings extends ToolServerAddress {
  /** Names of the tools that may be used, as the server has them. */
  tools: readonly string[];
  /** Tools that a person must confirm. By default, all that aren't annotated as read-only. */
  writes: readonly string[] | undefined;
  /** Tools that an investigation without a person may use. */
  investigate: readonly string[];
  /** Channels that may use the tools; all by default. */
  channels: readonly Place[] | undefined;
}

const names = z.array(
  z
    .string('must be tool names, such as ["search"]')
    .regex(/^[\x21-\x7e]{1,128}$/, 'must be a tool name of 1 to 128 characters'),
  'must be a list of tool names, such as ["search"]',
);

const texts = (about: string) => z.record(z.string(), z.string(about), about);

/** One entry of `mcpServers`. The url and headers are validated after their variables are replaced. */
const Entry = z.strictObject({
  type: z
    .enum(['http', 'streamable-http', 'streamableHttp'], {
      error: 'must be "http": Askwatch speaks Streamable HTTP only',
    })
    .optional(),
  url: z.string('must be the URL of a server, such as "https://mcp.example.com/mcp"'),
  headers: texts('must be strings, such as {"Authorization": "Bearer ${TOKEN}"}').default({}),
  tools: names.default([]),
  writes: names.optional(),
  investigate: names.default([]),
  channels: z
    .array(z.string('must be channels, such as ["slack:C0123"]'), 'must be a list of channels')
    .optional(),
});

const File = z.object({
  mcpServers: z.record(z.string(), z.unknown(), 'must be an object that maps names to servers'),
});

/** `${NAME}` in URLs and headers is replaced by an environment variable. Throws a `SettingsError` that names the place and shows no value. */
export async function readToolServers(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
  known: readonly PlatformSettings[],
): Promise<ToolServerSettings[]> {
  if (file === undefined) return [];
  const problems: string[] = [];
  const content = await readJson(file);
  const result = File.safeParse(content);
  if (!result.success) {
    throw wrong(file, ['mcpServers: must be an object that maps names to servers']);
  }
  const servers = Object.entries(result.data.mcpServers).flatMap(([name, entry]) => {
    const at = (path: string, what: string) => {
      problems.push(`mcpServers.${name}${path === '' ? '' : `.${path}`}: ${what}`);
    };
    const server = readEntry(name, entry, { env, known, at });
    return server ? [server] : [];
  });
  if (servers.length > MAX_SERVERS) {
    problems.push(`mcpServers: must have at most ${MAX_SERVERS} servers`);
  }
  if (servers.reduce((sum, { tools }) => sum + tools.length, 0) > MAX_TOOLS) {
    problems.push(`mcpServers: all servers together must have at most ${MAX_TOOLS} \`tools\``);
  }
  if (problems.length > 0) throw wrong(file, problems);
  return servers;
}

const wrong = (file: string, problems: readonly string[]) =>
  new SettingsError(problems.map((one) => `MCP_CONFIG: ${file}: ${one}`).join('\n'));

async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    if ((await stat(file)).size > MAX_FILE_BYTES) throw new Error('larger than 1 MB');
    text = await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const why = code === 'ENOENT' ? 'no such file' : (code ?? message);
    throw wrong(file, [`cannot be read (${why}); name another file, or unset MCP_CONFIG`]);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's own message may quote a secret of the file.
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    const line = position && text.slice(0, Number(position)).split('\n').length;
    throw wrong(file, [`is not valid JSON${line ? `: see line ${line}` : ''}`]);
  }
}

interface EntryReading {
  env: NodeJS.ProcessEnv;
  known: readonly PlatformSettings[];
  /** Reports an error at a path within the entry. */
  at(path: string, what: string): void;
}

function readEntry(
  name: string,
  entry: unknown,
  reading: EntryReading,
): ToolServerSettings | undefined {
  const { at, env, known } = reading;
  if (!/^[a-z0-9]+([_-][a-z0-9]+)*$/.test(name) || name.length > 32) {
    at(
      '',
      'the name must be lowercase letters and digits, with single _ or - between them, at most 32 characters',
    );
    return undefined;
  }
  if (typeof entry === 'object' && entry !== null && 'command' in entry) {
    at(
      'command',
      'only `url` works because Askwatch starts no programs: run the server with Streamable HTTP and set its URL',
    );
    return undefined;
  }
  const { data, error } = Entry.safeParse(entry);
  if (!data) {
    for (const issue of error.issues) {
      if (issue.code === 'unrecognized_keys') {
        const keys = issue.keys.join(', ');
        const there = Object.keys(Entry.shape).join(', ');
        at('', `unknown field ${keys}; remove it, or use one of ${there}`);
      } else at(issue.path.join('.'), issue.path.length > 0 ? issue.message : 'must be an object');
    }
    return undefined;
  }
  const url = expanded(data.url, env, (what) => at('url', what));
  const urlProblem = url === undefined ? undefined : problemOfUrl(url);
  if (urlProblem !== undefined) at('url', urlProblem);
  const headers = Object.entries(data.headers).flatMap(([header, given]) => {
    const tell = (what: string) => at(`headers.${header}`, what);
    const value = expanded(given, env, tell);
    const problem = value === undefined ? undefined : problemOfHeader(header, value);
    if (problem !== undefined) tell(problem);
    return value === undefined ? [] : [[header.toLowerCase(), value] as const];
  });
  for (const one of data.writes ?? []) {
    if (!data.tools.includes(one)) at('writes', `${one} must also be in \`tools\``);
  }
  for (const one of data.investigate) {
    if (!data.tools.includes(one)) at('investigate', `${one} must also be in \`tools\``);
    if (data.writes?.includes(one)) {
      at(
        'investigate',
        `${one} is in \`writes\`, and investigations only read; remove it from one`,
      );
    }
  }
  const channels = data.channels?.flatMap((text) => {
    const place = parsePlace(text);
    if (place && known.some((platform) => platform.name === place.platform)) return [place];
    const looks = known.map(({ examples }) => examples.channel).join(', ');
    at('channels', `'${text}' must look like one of ${looks}`);
    return [];
  });
  return {
    name,
    url: url ?? '',
    headers: Object.fromEntries(headers),
    tools: [...new Set(data.tools)],
    writes: data.writes,
    investigate: data.investigate,
    channels,
  };
}

/** Replaces `${NAME}` by environment variables; `${NAME:-other}` has a default. */
function expanded(
  text: string,
  env: NodeJS.ProcessEnv,
  tell: (problem: string) => void,
): string | undefined {
  const missing = new Set<string>();
  const value = text.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, other?: string) => {
    const found = env[name]?.trim() || other;
    if (found === undefined) missing.add(name);
    return found ?? '';
  });
  for (const name of missing) tell(`the environment variable ${name} is not set; set it`);
  return missing.size > 0 ? undefined : value;
}

function problemOfUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    return 'must be a URL such as https://mcp.example.com/mcp';
  }
  if (url.username + url.password !== '') {
    return 'must not contain a user name or password; put credentials in `headers`';
  }
  return undefined;
}

function problemOfHeader(name: string, value: string): string | undefined {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return 'must be a valid header name';
  if (RESERVED.test(name)) return 'remove it: the protocol itself sets this header';
  return /^[\x20-\x7e\x80-\xff]*$/.test(value)
    ? undefined
    : 'must be one line of characters allowed in a header';
}
