import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));

/** What each room may import besides its own files and Node's modules; types count. */
const MAY_IMPORT: Record<string, string[]> = {
  contracts: ['zod'],
  store: ['zod', 'lowdb', 'pg', 'kysely', 'pino'],
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
  clients: ['contracts', 'undici', 'eventsource-parser', 'zod', 'pino'],
  gateway: ['contracts', 'http', 'store', 'undici', 'zod', 'pino'],
  monitoring: ['contracts', 'http', 'store', 'undici', 'ipaddr.js', 'zod', 'pino'],
  bot: ['contracts', 'clients', 'store', 'zod', 'pino'],
  slack: ['bot', '@slack/bolt', 'pino'],
  discord: ['bot', 'discord.js', '@resvg/resvg-js', 'pino'],
  // zod: the bodies the page sends are checked like those of the services.
  console: ['bot', 'http', 'clients', 'zod', 'pino'],
  // What runs in the browser: its own libraries, and types of the wire it shares with the server.
  'console/page': ['console', 'preact', 'markdown-it', 'highlight.js', 'lowlight', 'uplot'],
};

/** Libraries that have one home. */
const ONLY_IN: Record<string, string> = {
  '@slack/bolt': 'slack',
  'discord.js': 'discord',
  '@resvg/resvg-js': 'discord',
};

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => file.replaceAll('\\', '/'));

function roomOf(file: string): string {
  if (file.startsWith('console/page/')) return 'console/page';
  return file.includes('/') ? (file.split('/')[0] ?? '') : 'root';
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

/** The room or package that a specifier of `file` leads to. */
function destination(file: string, specifier: string): string {
  if (specifier.startsWith('.')) {
    const path = new URL(specifier, `file:///${file}`).pathname.slice(1);
    return roomOf(path);
  }
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

function isNode(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier);
}

describe('the import table', () => {
  test('is read over real files and finds their imports', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(new Set(files.map(roomOf))).toEqual(new Set([...Object.keys(MAY_IMPORT), 'root']));
    expect(importsOf(`import { a } from './a.ts';\nexport type { B } from "b";`)).toEqual([
      './a.ts',
      'b',
    ]);
    expect(importsOf(`import type {\n  C,\n  D,\n} from 'e';\nimport 'd';`)).toEqual(['e', 'd']);
    expect(importsOf(`const x = await import('c');`)).toEqual(['c']);
    expect(importsOf(`const text = "down from 'a' to 'b'";`)).toEqual([]);
    expect(destination('bot/ask.ts', '../clients/gateway.ts')).toBe('clients');
    expect(destination('bot/ask.ts', '@slack/bolt/x')).toBe('@slack/bolt');
  });

  test.each(files)('%s imports only what its room may', (file) => {
    const room = roomOf(file);
    const illegal = importsOf(readFileSync(SRC + file, 'utf8'))
      .filter((specifier) => room === 'console/page' || !isNode(specifier))
      .map((specifier) => destination(file, specifier))
      .filter((to) => to !== room)
      .filter((to) => room !== 'root' && !MAY_IMPORT[room]?.includes(to));
    expect(illegal).toEqual([]);
  });

  test.each(files)('%s leaves the chat libraries to their rooms', (file) => {
    const room = roomOf(file);
    const astray = importsOf(readFileSync(SRC + file, 'utf8'))
      .map((specifier) => destination(file, specifier))
      .filter((to) => ONLY_IN[to] !== undefined && ONLY_IN[to] !== room);
    expect(astray).toEqual([]);
  });

  test('the program loads a chat library only when its platform is configured', () => {
    const reached = new Set(['main.ts']);
    for (const file of reached) {
      const text = readFileSync(SRC + file, 'utf8');
      const values = text.replace(/^\s*(?:import|export)\s+type\b[^;]*;/gm, '');
      const loaded = importsOf(values.replace(/\bimport\s*\(/g, 'later('));
      for (const specifier of loaded.filter((one) => one.startsWith('.'))) {
        reached.add(new URL(specifier, `file:///${file}`).pathname.slice(1));
      }
    }
    expect([...reached].filter((file) => roomOf(file) === 'bot')).not.toEqual([]);
    expect([...reached].filter((file) => ['slack', 'discord'].includes(roomOf(file)))).toEqual([]);
  });

  test('the folders are two levels deep, but for the page and the engines of the store', () => {
    const deep = files.filter((file) => file.split('/').length > 2);
    expect(
      deep.filter((file) => !/^(console\/page|store\/(lowdb|postgres))\/[^/]+$/.test(file)),
    ).toEqual([]);
  });
});
