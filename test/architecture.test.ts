import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Imports that each room may have in addition to its own files and Node's modules; types count. */
const MAY_IMPORT: Record<string, string[]> = {
  contracts: ['zod', 'eventsource-parser'],
  store: ['contracts', 'zod', 'lowdb', 'pg', 'kysely', 'pino'],
  http: [
    'contracts',
    'store',
    'fastify',
    'fastify-type-provider-zod',
    '@fastify/swagger',
    'ipaddr.js',
    'prom-client',
    'zod',
    'pino',
  ],
  clients: ['contracts', 'undici', '@modelcontextprotocol/client', 'zod', 'pino'],
  gateway: ['contracts', 'http', 'store', 'undici', 'zod', 'pino'],
  monitoring: [
    'contracts',
    'http',
    'store',
    'undici',
    'ipaddr.js',
    'croner',
    'dns-packet',
    'yaml',
    'zod',
    'pino',
  ],
  bot: ['contracts', 'clients', 'store', 'unpdf', 'zod', 'pino'],
  mcp: ['bot', 'clients', 'http', 'contracts', 'zod', '@modelcontextprotocol/server', 'pino'],
  slack: ['bot', 'contracts', '@slack/bolt', 'pino'],
  discord: ['bot', 'discord.js', '@resvg/resvg-js', 'pino'],
  // http has the guard over private addresses.
  webhook: ['bot', 'contracts', 'http'],
  // zod validates the page's request bodies.
  console: ['bot', 'http', 'clients', 'contracts', 'zod', 'pino'],
  // The browser's code: its own libraries, and types of the API that it shares with the server.
  'console/page': [
    'console',
    'preact',
    'preact-render-to-string',
    'markdown-it',
    'highlight.js',
    'lowlight',
  ],
};

/** The rooms that compose the others. They may import all other rooms and the ones before them; no other room imports them. */
const COMPOSING = ['config', 'app', 'cli'];

/**
 * The subrooms of each room, in the order in which they may import one another: each only those before it. A room's own
 * files may import all of its subrooms, and no subroom imports them.
 */
const SUBROOMS: Record<string, string[]> = {
  store: ['lowdb', 'postgres'],
  gateway: ['shared', 'providers', 'catalog', 'upstreams', 'usage', 'chat', 'models'],
  monitoring: [
    'time',
    'checks',
    'state',
    'history',
    'monitors',
    'connectivity',
    'scheduler',
    'api',
    'provisioning',
  ],
  bot: [
    'shared',
    'usage',
    'channels',
    'incidents',
    'tools',
    'rules',
    'files',
    'ask',
    'watch',
    'alerts',
    'commands',
    'home',
    // Features, which know nothing of one another.
    'feedback',
    'intake',
    'investigations',
    'postmortem',
    'reports',
    'tool-servers',
  ],
  slack: ['render', 'api', 'answers', 'workspaces', 'events'],
  discord: ['render', 'api', 'answers', 'interactions'],
  console: ['shared', 'login', 'playground', 'status', 'account'],
  'console/page': ['shared', 'charts', 'markdown', 'playground', 'status', 'account', 'login'],
};

/** A store's engine keeps the interface that the room's own files hold. */
const IMPORTS_ITS_ROOM = ['store/lowdb', 'store/postgres'];

/** Libraries that have one home. */
const ONLY_IN: Record<string, string> = {
  '@slack/bolt': 'slack',
  'discord.js': 'discord',
  '@resvg/resvg-js': 'discord',
  '@modelcontextprotocol/server': 'mcp',
  unpdf: 'bot',
  '@modelcontextprotocol/client': 'clients',
  pg: 'store',
  kysely: 'store',
};

/** Files of its own that a folder may have before nobody finds anything in it. */
const MAX_FILES = 25;

const listed = (folder: string) =>
  readdirSync(ROOT + folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(entry.parentPath, entry.name).slice(ROOT.length));

/** The program's modules, by their paths below `src/`. */
const files = listed('src')
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => file.slice('src/'.length));

const texts = new Map(files.map((file) => [file, readFileSync(`${ROOT}src/${file}`, 'utf8')]));

function roomOf(file: string): string {
  if (file.startsWith('console/page/')) return 'console/page';
  return file.includes('/') ? (file.split('/')[0] ?? '') : 'root';
}

/** The part of a room that a file lies in: a subroom, or the room's own files (`''`). */
function subroomOf(file: string): string {
  const room = roomOf(file);
  const [first = '', ...rest] = file.slice(room.length + 1).split('/');
  return rest.length > 0 ? first : '';
}

/** Every module a file names: static, type-only, re-exported or dynamic. */
function importsOf(text: string): string[] {
  const patterns = [
    /^\s*(?:import|export)\b[^'";]*?\bfrom\s*(['"])([^'"]+)\1/gm,
    /^\s*import\s+(['"])([^'"]+)\1/gm,
    /\bimport\s*\(\s*(['"])([^'"]+)\1/g,
  ];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[2] ?? ''));
}

/** The file below `src/` that a relative specifier leads to. */
const fileOf = (from: string, specifier: string) => posix.join(posix.dirname(from), specifier);

/** The room or package that a specifier of `file` leads to. */
function destination(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return roomOf(fileOf(file, specifier));
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

function isNode(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier);
}

/** The files of ours that each file imports. */
const graph = new Map(
  [...texts].map(([file, text]) => [
    file,
    importsOf(text)
      .filter((specifier) => specifier.startsWith('.') && !specifier.endsWith('.css'))
      .map((specifier) => fileOf(file, specifier)),
  ]),
);

/** A circle of imports that a file is part of; undefined when it is part of none. */
function circleFrom(start: string, edges: ReadonlyMap<string, readonly string[]>) {
  const cameFrom = new Map<string, string>();
  const waiting = [start];
  for (const file of waiting) {
    for (const next of edges.get(file) ?? []) {
      if (next === start) {
        const circle = [file];
        while (circle[0] !== start) circle.unshift(cameFrom.get(circle[0] ?? '') ?? start);
        return circle;
      }
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, file);
      waiting.push(next);
    }
  }
  return undefined;
}

describe('the import table', () => {
  test('is read over real files and finds their imports', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(new Set(files.map(roomOf))).toEqual(
      new Set([...Object.keys(MAY_IMPORT), ...COMPOSING, 'root']),
    );
    expect(importsOf(`import { a } from './a.ts';\nexport type { B } from "b";`)).toEqual([
      './a.ts',
      'b',
    ]);
    expect(importsOf(`import type {\n  C,\n  D,\n} from 'e';\nimport 'd';`)).toEqual(['e', 'd']);
    expect(importsOf(`const x = await import('c');`)).toEqual(['c']);
    expect(importsOf(`const text = "down from 'a' to 'b'";`)).toEqual([]);
    expect(destination('bot/ask/ask.ts', '../../clients/gateway.ts')).toBe('clients');
    expect(destination('bot/ask/ask.ts', '@slack/bolt/x')).toBe('@slack/bolt');
    expect(subroomOf('bot/commands/monitor/add.ts')).toBe('commands');
    expect(subroomOf('console/page/status/entry.tsx')).toBe('status');
    expect(subroomOf('bot/bot.ts')).toBe('');
  });

  test('lets each room import what it may, and nothing else', () => {
    const astray = files.flatMap((file) => {
      const room = roomOf(file);
      if (room === 'root') return [];
      const place = COMPOSING.indexOf(room);
      if (place >= 0) {
        const later = COMPOSING.slice(place + 1);
        return importsOf(texts.get(file) ?? '')
          .filter((specifier) => later.includes(destination(file, specifier)))
          .map((specifier) => `${file} imports ${specifier}`);
      }
      const allowed = [room, ...(MAY_IMPORT[room] ?? [])];
      return importsOf(texts.get(file) ?? '')
        .filter((specifier) => room === 'console/page' || !isNode(specifier))
        .filter((specifier) => !allowed.includes(destination(file, specifier)))
        .map((specifier) => `${file} imports ${specifier}`);
    });
    expect(astray).toEqual([]);
  });

  test('lets each subroom import those before it, and nothing else of its room', () => {
    const astray = files.flatMap((file) => {
      const room = roomOf(file);
      const subroom = subroomOf(file);
      if (subroom === '' || COMPOSING.includes(room)) return [];
      const order = SUBROOMS[room] ?? [];
      const allowed = order.slice(0, order.indexOf(subroom) + 1);
      if (IMPORTS_ITS_ROOM.includes(`${room}/${subroom}`)) allowed.push('');
      return (graph.get(file) ?? [])
        .filter((to) => roomOf(to) === room && !allowed.includes(subroomOf(to)))
        .map((to) => `${file} imports ${to}`);
    });
    expect(astray).toEqual([]);
  });

  test('lets other assistants have the tools of the bot, and nothing else of it', () => {
    const taken = files
      .filter((file) => roomOf(file) === 'mcp')
      .flatMap((file) => graph.get(file) ?? [])
      .filter((to) => roomOf(to) === 'bot');
    expect(new Set(taken.map(subroomOf))).toEqual(new Set(['shared', 'tools']));
  });

  test('leaves some libraries to one room each', () => {
    const astray = files.flatMap((file) =>
      importsOf(texts.get(file) ?? '')
        .filter(
          (specifier) => (ONLY_IN[destination(file, specifier)] ?? roomOf(file)) !== roomOf(file),
        )
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(astray).toEqual([]);
  });

  test('holds no circle, of types neither', () => {
    expect(
      circleFrom(
        'a',
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['b', 'a']],
        ]),
      ),
    ).toEqual(['a', 'b', 'c']);
    expect(
      circleFrom(
        'a',
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['b']],
        ]),
      ),
    ).toBeUndefined();
    expect([...graph.values()].flat().filter((file) => !graph.has(file))).toEqual([]);
    const circles = files.flatMap((file) => circleFrom(file, graph)?.join(' > ') ?? []);
    expect(circles).toEqual([]);
  });

  test('the program loads a chat library, and those of a database and of MCP, only when they are needed', () => {
    const reached = new Set(['main.ts']);
    for (const file of reached) {
      const values = (texts.get(file) ?? '').replace(/^\s*(?:import|export)\s+type\b[^;]*;/gm, '');
      const loaded = importsOf(values.replace(/\bimport\s*\(/g, 'later('));
      for (const specifier of loaded.filter((one) => one.startsWith('.'))) {
        reached.add(fileOf(file, specifier));
      }
    }
    expect([...reached].filter((file) => roomOf(file) === 'bot')).not.toEqual([]);
    expect([...reached].filter((file) => ['slack', 'discord'].includes(roomOf(file)))).toEqual([]);
    expect([...reached].filter((file) => file.startsWith('store/postgres/'))).toEqual([]);
    const loaded = [...reached].flatMap((file) =>
      importsOf((texts.get(file) ?? '').replace(/\bimport\s*\(/g, 'later(')),
    );
    expect(loaded).toContain('fastify');
    expect(loaded.filter((specifier) => specifier.startsWith('@modelcontextprotocol/'))).toEqual(
      [],
    );
  });
});

/** Files that parse JSON past `parseUntrustedJson`, and why they may. The store and the page in the browser read what Askwatch wrote. */
const PARSES_JSON: Record<string, string> = {
  'contracts/parse-json.ts': 'counts what a text holds first',
  'gateway/catalog/catalog.ts': 'a file of the operator',
  'config/tool-servers.ts': 'a file of the operator',
  'app/pretty-log.ts': 'lines of the log',
  'main.ts': 'package.json',
  'cli.ts': 'package.json',
  'console/page-files.ts': 'a file of the build',
  'cli/control-client.ts': 'answers of Askwatch over its control socket',
  'cli/monitors.ts': 'answers of Askwatch over its control socket',
  'monitoring/monitors/definition-encryption.ts': 'a document of the store',
  'slack/workspaces/installed-workspaces.ts': 'a document of the store',
  'monitoring/time/cron.ts': 'a key that the same file wrote',
  'monitoring/time/weekly.ts': 'a key that the same file wrote',
};

test('JSON from outside is parsed in one place, which bounds it first', () => {
  const parsing = files
    .filter((file) => !['store', 'console/page'].includes(roomOf(file)))
    .filter((file) => /\bJSON\.parse\(|\.json\(\)/.test(texts.get(file) ?? ''));
  expect(parsing.sort()).toEqual(Object.keys(PARSES_JSON).sort());
});

describe('the folders', () => {
  test('the program consists of rooms and two files', () => {
    expect(files.filter((file) => !file.includes('/')).sort()).toEqual(['cli.ts', 'main.ts']);
  });

  test(`hold at most ${MAX_FILES} files of their own`, () => {
    const counts = new Map<string, number>();
    for (const file of ['src', 'test', 'bench', 'evals'].flatMap(listed)) {
      const folder = posix.dirname(file);
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
  });
});

/** Type names that still occur more than once. The list only gets shorter. */
const REPEATED_TYPES = new Set(['Answer', 'Asked', 'Incident']);

const MAX_FUNCTION_LINES = 120;

/** A top-level function, or a method of a class. */
const FUNCTION_START =
  /^( {0,2})(?:export )?(?:(?:async )?function\*? |const (?=\w+ = .*(?:=>|\()(?: \{)?$)|(?:(?:async|static|private|public|get|set) |\*)*(?=#?\w+\(.*[{(]$))#?(\w+)/;

describe('the names and functions', () => {
  test('no two types share a name', () => {
    const places = new Map<string, string[]>();
    for (const [file, text] of texts) {
      for (const [, name = ''] of text.matchAll(
        /^(?:export )?(?:interface|type|(?:abstract )?class) (\w+)/gm,
      )) {
        places.set(name, [...(places.get(name) ?? []), file]);
      }
    }
    const repeated = [...places].filter(([, found]) => found.length > 1).map(([name]) => name);
    expect(repeated.filter((name) => !REPEATED_TYPES.has(name))).toEqual([]);
    expect([...REPEATED_TYPES].filter((name) => !repeated.includes(name))).toEqual([]);
  });

  test(`no function has more than ${MAX_FUNCTION_LINES} lines`, () => {
    const long = [...texts].flatMap(([file, text]) => {
      const lines = text.split('\n');
      return lines.flatMap((line, at) => {
        const [, indent = '', name = ''] = FUNCTION_START.exec(line) ?? [];
        if (name === '' || /[;}]$/.test(line)) return [];
        // The formatter ends a declaration at the indentation of its beginning; `}) {` only ends its parameters.
        const end = lines.findIndex(
          (one, after) =>
            after > at && one !== '' && !one.startsWith(`${indent} `) && !/[({[>]$/.test(one),
        );
        return end - at >= MAX_FUNCTION_LINES ? [`${file} ${name}`] : [];
      });
    });
    expect(long).toEqual([]);
  });
});
