import { isDeepStrictEqual } from 'node:util';
import { Document, type Pair, type Scalar, type YAMLMap } from 'yaml';
import { isSecretName, mapSecrets } from '../../contracts/secret-values.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import { withoutSecrets } from '../checks/secret-values.ts';
import type { ExistingMonitor } from './plan.ts';

export interface WrittenMonitor {
  key: string;
  fields: Record<string, unknown>;
  /** Lines above it. */
  comments?: string[];
}

/** Writes monitors as the text of a file; the lines of `heading` come first. */
export function writeDefinitions(
  monitors: readonly WrittenMonitor[],
  heading: readonly string[] = [],
): string {
  const entries = monitors.map(({ key, fields }) => [key, fields]);
  const document = new Document({ monitors: Object.fromEntries(entries) });
  if (heading.length > 0) document.commentBefore = commentOf(heading);
  const map = document.get('monitors') as YAMLMap<Scalar>;
  for (const [at, { comments = [] }] of monitors.entries()) {
    const pair = map.items[at] as Pair<Scalar> | undefined;
    if (pair && comments.length > 0) pair.key.commentBefore = commentOf(comments);
  }
  return document.toString({ lineWidth: 0 });
}

/** Control characters and line separators could end a comment. */
const commentOf = (lines: readonly string[]) =>
  lines.map((line) => ` ${line.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')}`).join('\n');

/** Makes a different key from each name. */
export function createKeys() {
  const taken = new Set<string>();
  return (name: string): string => {
    const word =
      name
        .toLowerCase()
        .normalize('NFKD')
        .replace(/[^a-z0-9._/]+/g, '-')
        .replace(/^[^a-z0-9]+|-+$/g, '')
        .slice(0, 80) || 'monitor';
    let key = word;
    for (let number = 2; taken.has(key); number += 1) key = `${word}-${number}`;
    taken.add(key);
    return key;
  };
}

/**
 * Writes a file that would declare these monitors. Defaults are left out, ids stay so that monitors keep their history, and a
 * variable replaces each secret.
 */
export function exportDefinitions(
  standing: readonly ExistingMonitor[],
  types: CheckTypes = shippedTypes,
): string {
  const kept = standing.filter(({ managedBy }) => managedBy?.leftAtMs === undefined);
  const newKey = createKeys();
  const keys = new Map<string, string>();
  for (const { id, managedBy } of kept) if (managedBy) keys.set(id, newKey(managedBy.key));
  for (const { id, definition } of kept) {
    if (!keys.has(id)) keys.set(id, newKey(definition.name));
  }
  const variables = new Set<string>();
  const written = kept.map((monitor): WrittenMonitor => {
    const key = keys.get(monitor.id) ?? monitor.id;
    const variable = (name: string) => `\${${addVariable(variables, key, name)}}`;
    const fields = fieldsOf(monitor, { keys, types, variable });
    const comments = monitor.isPaused
      ? ['This monitor is paused, but a monitor in a file never is: applying this file resumes it.']
      : [];
    return { key, fields, comments };
  });
  const heading =
    'Askwatch monitors. Set MONITORS_FILE to this file to keep them as declared here.';
  return writeDefinitions(written, [heading, ...variablesLines(variables)]);
}

/** Writes monitors that have no id yet, in the same way. `notes` come after the heading. */
export function writeNewDefinitions(
  monitors: ReadonlyArray<{ key: string; definition: MonitorDefinition; comments: string[] }>,
  [heading, ...notes]: readonly [heading: string, ...notes: string[]],
): string {
  const variables = new Set<string>();
  const written = monitors.map(({ key, definition, comments }): WrittenMonitor => {
    const variable = (name: string) => `\${${addVariable(variables, key, name)}}`;
    const there = { id: '', definition, maintenance: [], isPaused: false };
    const options = { keys: new Map<string, string>(), types: shippedTypes, variable };
    const { id: _, ...fields } = fieldsOf(there, options);
    return { key, fields, comments };
  });
  return writeDefinitions(written, [heading, ...variablesLines(variables), ...notes]);
}

const variablesLines = (variables: ReadonlySet<string>) =>
  variables.size > 0
    ? [`Secrets are left out. Set these variables first: ${[...variables].join(', ')}`]
    : [];

/**
 * Adds the variable of one secret: different secrets never share one. A number goes before the name of the secret, whose last
 * word says that the value is secret.
 */
function addVariable(variables: Set<string>, key: string, name: string): string {
  const nameWith = (number: string) =>
    `${key}${number}_${name}`
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, '_')
      .replace(/_$/, '')
      .replace(/^(?=\d)/, '_');
  let added = nameWith('');
  for (let number = 2; variables.has(added); number += 1) added = nameWith(`_${number}`);
  variables.add(added);
  return added;
}

function fieldsOf(
  { id, definition, maintenance, channels = [] }: ExistingMonitor,
  {
    keys,
    types,
    variable,
  }: { keys: ReadonlyMap<string, string>; types: CheckTypes; variable: (name: string) => string },
): Record<string, unknown> {
  const {
    name,
    target,
    check_type: type,
    depends_on: parents = [],
    tags = [],
    runbook,
  } = definition;
  const isSending = 'headers' in definition.config;
  const shown = isSending
    ? withSecretsReplaced(target, (secret) => variable(secret))
    : escaped(target);
  const config = configOf(definition, types, variable);
  return {
    id,
    name: escaped(name),
    target: shown,
    check_type: type,
    ...(Object.keys(config).length > 0 && { config }),
    ...(channels.length > 0 && { channels }),
    ...(parents.length > 0 && { depends_on: parents.map((parent) => keys.get(parent) ?? parent) }),
    ...(tags.length > 0 && { tags }),
    ...(runbook && { runbook: escaped(runbook) }),
    ...(maintenance.length > 0 && { maintenance: textsEscaped(maintenance) }),
  };
}

function withSecretsReplaced(target: string, variable: (name: string) => string): string {
  const places: string[] = [];
  const marked = mapSecrets(target, ({ name }) => {
    places.push(variable(name));
    return `\u0000${places.length - 1}\u0000`;
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: A target holds none.
  return escaped(marked).replace(/\u0000(\d+)\u0000/g, (_, at) => places[Number(at)] ?? '');
}

function configOf(
  definition: MonitorDefinition,
  types: CheckTypes,
  variable: (name: string) => string,
): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  const shown = withoutSecrets(definition).config as Record<string, unknown>;
  for (const [setting, value] of Object.entries<unknown>(definition.config)) {
    if (value === undefined || isDeepStrictEqual(value, types.defaultOf(definition, setting))) {
      continue;
    }
    const isSecret = !isDeepStrictEqual(value, shown[setting]);
    if (setting === 'headers') config.headers = headersOf(value as object, variable);
    else config[setting] = isSecret ? variable(setting) : textsEscaped(value);
  }
  return config;
}

const headersOf = (headers: object, variable: (name: string) => string) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      isSecretName(name) ? variable(name) : escaped(String(value)),
    ]),
  );

/** Writes `${` so that it is read as text. */
const escaped = (text: string) => text.replaceAll('${', () => '$${');

function textsEscaped(value: unknown): unknown {
  if (typeof value === 'string') return escaped(value);
  if (Array.isArray(value)) return value.map(textsEscaped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, textsEscaped(part)]));
}
