import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createCommands } from '../src/cli/commands.ts';
import { ErrorCode } from '../src/contracts/error.ts';
import {
  CertificateConfig,
  DnsConfig,
  HeartbeatConfig,
  HttpConfig,
  KeywordConfig,
  MONITORING_PREFIX,
  MonitoringPath,
  TcpConfig,
} from '../src/contracts/monitoring.ts';
import { AddedPath } from '../src/contracts/monitoring-additions.ts';
import { Catalog, type CatalogInput } from '../src/gateway/catalog/catalog-schema.ts';
import type { ProviderProfile } from '../src/gateway/providers/provider.ts';
import { PROVIDER_NAMES, PROVIDERS } from '../src/gateway/providers/provider-table.ts';
import { forbidden, HttpError } from '../src/http/errors.ts';
import { startGateway } from './helpers/gateway/running-gateway.ts';
import { startService } from './helpers/monitoring/service.ts';
import { program } from './helpers/run-command.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

/** Text under a second-level heading of a page. */
function section(page: string, heading: string): string {
  const text = read(`../docs/${page}`).split(`## ${heading}\n`)[1]?.split(/^##+ /m)[0];
  if (text === undefined) throw new Error(`${page} has no section '${heading}'.`);
  return text;
}

/** The first cell of each row, without the marks of code. */
const firstCells = (text: string) =>
  [...text.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell.replaceAll('`', ''));

test('The page on providers shows a catalog that can be used, with every field, and explains each', () => {
  const text = section('providers.md', 'The catalog');
  const example = JSON.parse(text.match(/```json\n(.*?)```/s)?.[1] ?? '') as CatalogInput;
  const fields = (models: object[]) => new Set(models.flatMap((model) => Object.keys(model)));
  const { models } = Catalog.parse(example);
  expect(fields(models)).toEqual(fields(example.models));
  const schemas = Catalog.shape.models.element.options;
  expect(fields(example.models)).toEqual(fields(schemas.map(({ shape }) => shape)));
  const explained = firstCells(text).flatMap((cell) => cell.split(', '));
  expect(new Set(explained)).toEqual(fields(example.models));
});

test('The page on providers names each of them, and every parameter that is left out for it', () => {
  const text = section('providers.md', 'Providers');
  expect(firstCells(text)).toEqual([...PROVIDER_NAMES]);
  for (const name of PROVIDER_NAMES) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';
    const provider: ProviderProfile = PROVIDERS[name];
    const { models, maxChoices } = provider;
    const families = models.map(({ models: _, ...rules }) => ({ ...provider, ...rules }));
    for (const { drop, maxValues: caps, rename, ownStops } of [provider, ...families]) {
      for (const parameter of [...drop, ...Object.keys(caps), ...Object.keys(rename)]) {
        expect(row).toContain(parameter.endsWith('_penalty') ? 'penalties' : `\`${parameter}\``);
      }
      if (ownStops) expect(row).toContain('`stop`');
    }
    if (maxChoices < 128) expect(row).toContain('`n`');
  }
});

test('The page on metrics names every metric of both services', async () => {
  const { kit } = await startGateway();
  const { body } = await kit.server.inject('/metrics');
  const texts = [body, await (await startService({ monitorsFile: '/nowhere' })).metrics()].join(
    '\n',
  );
  const declared = [...texts.matchAll(/^# TYPE (askwatch_\S+)/gm)].map(([, name]) => name);
  const named = ['Metrics', 'Metrics of each monitor'].flatMap((heading) =>
    firstCells(section('metrics.md', heading)).flatMap((cell) => cell.split(', ')),
  );
  expect(new Set(named)).toEqual(new Set(declared));
});

test('The page on errors names every code of both services', () => {
  const codes = firstCells(section('errors.md', 'Codes'));
  expect(codes.sort()).toEqual([...Object.values(ErrorCode), forbidden('').code].sort());
});

test('The page on errors names every type of both services', () => {
  const limiter = read('../src/gateway/usage/key-limits.ts');
  const ofLimits = [
    ...limiter.matchAll(/(?:rateLimited|quotaUsedUp)\(\s*(?:'(\w+)'|ErrorCode\.(\w+)),/g),
  ].map(([, type, code]) => type ?? ErrorCode[code as keyof typeof ErrorCode]);
  expect(ofLimits.length).toBeGreaterThan(3);
  const ofStatuses = [400, 500].map((status) => new HttpError(status, '', '').type);
  const types = firstCells(section('errors.md', 'Types'));
  expect(new Set(types)).toEqual(new Set([...ofStatuses, ...ofLimits]));
});

test('The page on errors names every status that the services document', async () => {
  const { kit } = await startGateway();
  const { url } = await startService();
  const documents = [
    await kit.server.inject('/openapi.json').then((answer) => answer.json()),
    await fetch(new URL('/openapi.json', url)).then((answer) => answer.json()),
  ] as { paths: Record<string, Record<string, { responses: Record<string, unknown> }>> }[];
  const documented = documents
    .flatMap(({ paths }) => Object.values(paths).flatMap(Object.values))
    .flatMap(({ responses }) => Object.keys(responses))
    .filter((status) => Number(status) >= 400);
  expect(documented).toContain('410');
  const named = section('errors.md', 'Statuses').match(/\b[45]\d\d\b/g);
  expect(named).toEqual(expect.arrayContaining([...new Set(documented)]));
});

test('The page on the command line names every command and option', () => {
  const run = { program, out: new PassThrough(), err: new PassThrough() };
  const namesOf = (command: Command, path: string): string[] => [
    ...command.options.map(({ long }) => long ?? ''),
    ...command.commands
      .map((one) => [one, `${path}${one.name()}`] as const)
      .filter(([, name]) => name !== 'complete')
      .flatMap(([one, name]) => [
        ...(one.commands.length > 0 ? [] : [name]),
        ...namesOf(one, `${name} `),
      ]),
  ];
  const names = [...new Set(namesOf(createCommands(run), ''))];
  expect(names.length).toBeGreaterThan(25);
  const text = read('../docs/cli.md');
  expect(names.filter((name) => !text.includes(`\`${name}`))).toEqual([]);
});

test('The page on monitoring names every route of the service', () => {
  const rows = firstCells(section('monitoring.md', 'Routes')).flatMap((cell) => cell.split(', '));
  const named = rows
    .filter((cell) => /^[A-Z]+ \//.test(cell))
    .map((cell) => cell.split(' ')[1]?.replace(/\{(\w+)\}/g, ':$1'));
  const paths = Object.values({ ...MonitoringPath, ...AddedPath });
  expect(new Set(named)).toEqual(
    new Set(paths.map((path) => path.slice(MONITORING_PREFIX.length))),
  );
});

test('The page on monitoring names every setting of a check, of whom it is, and its default', () => {
  const kinds = {
    HTTP: HttpConfig.shape,
    KEYWORD: KeywordConfig.shape,
    DNS: DnsConfig.shape,
    TCP: TcpConfig.shape,
    CERTIFICATE: CertificateConfig.shape,
    HEARTBEAT: HeartbeatConfig.shape,
  };
  const rows = section('monitoring.md', 'Settings of a check').split('\n');
  for (const [kind, shape] of Object.entries(kinds)) {
    for (const [name, schema] of Object.entries(shape)) {
      const named = rows
        .filter((line) => new RegExp(`^\\| [^|]*\`${name}\``).test(line))
        .map((line) => line.split('|'));
      const ofKind = named.filter(([, , of = '']) => of.includes('all but') !== of.includes(kind));
      expect(ofKind, `${name} of ${kind}`).toHaveLength(1);
      const [, settings = '', , , fallbacks = ''] = ofKind[0] ?? [];
      const place = settings.split(',').findIndex((one) => one.includes(`\`${name}\``));
      const fallback = schema.safeParse(undefined).data;
      if (fallback === undefined || typeof fallback === 'object') continue;
      expect(fallbacks.split(',')[place]?.trim(), name).toBe(String(fallback));
    }
  }
  const named = rows.flatMap((line) => line.match(/^\| (`[^|]*)\|.*\|.*\|.*\|$/)?.[1] ?? []);
  const settings = named.join().match(/[a-z_]+/g);
  expect(new Set(settings)).toEqual(new Set(Object.values(kinds).flatMap(Object.keys)));
});

test('The page on the gateway tells the errors of the estimates as they were measured', () => {
  const measured = read('fixtures/texts/README.md');
  const rows = [...measured.matchAll(/^\| ([\w-]+) \|.*\| ([+−][\d.]+ %) \| \d+ \|$/gm)];
  const errorOf = new Map(rows.map(([, kind = '', error = '']) => [kind, error]));
  const text = section('gateway.md', 'Token estimates');
  const mean = measured.match(/Mean size of the error: ([\d.]+ %) over the held-out/)?.[1];
  expect(text).toContain(`mean error is ${mean}`);
  expect(text).toContain(`all ${errorOf.size} kinds`);
  const told = [...text.matchAll(/([A-Z][\w, ]+?) \| (?:([+−][\d.]+) to )?([+−][\d.]+ %)/g)];
  expect(told).toHaveLength(10);
  for (const [, kinds = '', least, most = ''] of told) {
    const names = kinds === 'English' ? ['english-prose', 'english-chat'] : kinds.split(', ');
    const errors = names
      .map((name) => errorOf.get(name.toLowerCase()) ?? name)
      .sort((a, b) => Number.parseFloat(a) - Number.parseFloat(b));
    expect([least && `${least} %`, most]).toEqual([least && errors[0], errors.at(-1)]);
  }
});

const PAGES = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...readdirSync(new URL('../docs/', import.meta.url))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

test.each(PAGES)('Every link of %s leads to a file and a heading that exist', (page) => {
  const from = new URL(`../${page}`, import.meta.url);
  const broken = relativeLinks(readFileSync(from, 'utf8')).filter((link) => {
    const [path = '', anchor] = link.split('#');
    const to = new URL(path, from);
    if (!existsSync(to)) return true;
    return anchor !== undefined && !anchorsOf(readFileSync(to, 'utf8')).has(anchor);
  });
  expect(broken).toEqual([]);
});

test('docs/README.md leads to every page of docs', () => {
  const pages = PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md');
  expect(pagesLinkedFrom('docs/README.md')).toEqual(expect.arrayContaining(pages));
});

test('README.md leads to the index of docs and to every page beside itself', () => {
  const pages = PAGES.filter((page) => !page.includes('/') && page !== 'README.md');
  const linked = pagesLinkedFrom('README.md');
  expect(linked).toEqual(expect.arrayContaining(['docs/README.md', ...pages]));
});

test('The README has at most 150 lines', () => {
  expect(read('../README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

const TOPICS = PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md');

test.each(TOPICS)('%s begins an example within its first 15 lines', (page) => {
  const begin = read(`../${page}`).split('\n').slice(0, 15);
  expect(begin.some((line) => /^ *(?:```|> |!\[|<img |<picture)/.test(line))).toBe(true);
});

const pagesLinkedFrom = (page: string) =>
  relativeLinks(read(`../${page}`)).map((link) => join(dirname(page), link.split('#')[0] ?? ''));

/** Targets of a page's links and pictures, except for other sites. An anchor of the same page has no path. */
function relativeLinks(text: string): string[] {
  const links = withoutCode(text).matchAll(/\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g);
  return [...links]
    .map(([, link, picture]) => link ?? picture ?? '')
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** The anchors that headings have, as GitHub makes them: lower case, no punctuation, hyphens for spaces. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(
    ([, heading = '']) => heading,
  );
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

const withoutCode = (text: string) => text.replace(/^ *```.*?^ *```$/gms, '');
