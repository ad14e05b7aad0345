import { z } from 'zod';
import { MAX_PARENTS } from '../../contracts/monitoring.ts';
import { MaintenanceWindow } from '../../contracts/monitoring-additions.ts';
import { plainWords } from '../../contracts/plain-words.ts';
import { HttpError } from '../../http/errors.ts';
import { createAdmission } from '../api/admission.ts';
import { createdDefinition } from '../api/monitor-change.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import { withoutSecrets } from '../checks/secret-values.ts';
import { createSsrfGuard } from '../checks/ssrf-guard.ts';
import { checkWindows } from '../monitors/maintenance.ts';
import { MAX_MONITORS } from '../monitors/monitors.ts';
import { DefinitionsError, MAX_PROBLEMS, type Problem } from './problem.ts';
import { didYouMean } from './suggest.ts';
import { withVariables } from './variables.ts';
import { type Located, type Position, partAt, readYaml } from './yaml-file.ts';

/** A file of monitors, by the name that people know it by. */
export interface SourceFile {
  name: string;
  text: string;
}

/** What files are read with. */
export interface ReadingContext {
  env: Readonly<Record<string, string | undefined>>;
  /** Variables whose values are the program's own secrets: no target gets them. */
  taboo: readonly string[];
  /** Networks that checks may reach besides the public internet, CIDRs. */
  allowPrivate: readonly string[];
  /** Platforms whose channels may be named, such as `slack`. */
  platforms: readonly string[];
}

/** A monitor as a file wants it. */
export interface WantedMonitor {
  key: string;
  file: string;
  line: number;
  /** Of a monitor that is there already and is to be this one. */
  id?: string | undefined;
  definition: MonitorDefinition;
  maintenance: MaintenanceWindow[];
  channels: string[];
  /** Keys of other monitors of the files; ids of monitors and alerts are as they are written. */
  dependsOn: string[];
}

const FIELDS = {
  name: 'Shop',
  target: 'https://shop.example.com',
  check_type: 'HTTP',
  config: '',
  channels: '["slack:C0123"]',
  depends_on: '[database]',
  maintenance: '',
  id: '',
} as const;

const KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/;
const ID = /^[\w:-]{1,100}$/;
const CHANNEL = /^([a-z][a-z\d-]*):[^\s,]{1,200}$/;
const MAX_LISTED = 20;

/** What is read of one file after another. */
interface Reading {
  wanted: Map<string, WantedMonitor & { at: Position; dependsOnAt: Located | undefined }>;
  /** The keys of monitors that name an id, by that. */
  ids: Map<string, string>;
  problems: Problem[];
  context: ReadingContext;
  types: CheckTypes;
  admit: ReturnType<typeof createAdmission>;
}

/**
 * Reads monitors from files; what the API would refuse is refused here, by the same schemas, but no name is looked up: checks see to
 * that a target is allowed. Throws a `DefinitionsError` with everything that is wrong, and where.
 */
export async function readDefinitions(
  files: readonly SourceFile[],
  context: ReadingContext,
  types: CheckTypes = shippedTypes,
): Promise<WantedMonitor[]> {
  const guard = createSsrfGuard([...context.allowPrivate]);
  const admit = createAdmission({ types, guard, lookup: async () => [] });
  const reading: Reading = {
    wanted: new Map(),
    ids: new Map(),
    problems: [],
    context,
    types,
    admit,
  };
  for (const file of files) await readFile(file, reading);
  checkDependencies(reading);
  const [last] = [...reading.wanted.values()].slice(MAX_MONITORS);
  if (last) {
    complainer(reading, last.file)(
      last.at,
      `this is monitor ${MAX_MONITORS + 1}, and Askwatch holds at most ${MAX_MONITORS}; remove some`,
    );
  }
  if (reading.problems.length > 0) throw new DefinitionsError(reading.problems);
  return [...reading.wanted.values()].map(({ at: _, dependsOnAt: __, ...monitor }) => monitor);
}

function complainer({ problems }: Reading, file: string) {
  return ({ line, column }: Position, message: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ file, line, column, message });
    else if (problems.length === MAX_PROBLEMS) {
      const more = `there are more problems; only the first ${MAX_PROBLEMS} are shown`;
      problems.push({ file, line, column, message: more });
    }
  };
}

async function readFile({ name: file, text }: SourceFile, reading: Reading): Promise<void> {
  const complain = complainer(reading, file);
  const { env, taboo } = reading.context;
  const variables = { env, taboo: new Set(taboo) };
  const root = readYaml(text, {
    complain,
    replace(given, at) {
      if (!given.includes('${')) return { text: given };
      const result = withVariables(given, variables);
      if (!('fault' in result)) return result;
      complain(at, result.fault);
      return { text: given };
    },
  });
  if (root === undefined) return;
  if (root.value === null) {
    complain(
      root.at,
      'the file is empty; write monitors: with the monitors below it, or monitors: {} for none',
    );
    return;
  }
  if (!root.entries) {
    complain(root.at, 'a file must begin with monitors:, with each monitor below it under a key');
    return;
  }
  const before = reading.problems.length;
  for (const [name, part] of root.entries) {
    if (name === 'monitors' || name.startsWith('x-')) continue;
    complain(
      part.at,
      `unknown field '${name}'.${didYouMean(name, ['monitors'])} Use monitors:, or begin the name with x- for values that aliases refer to`,
    );
  }
  const monitors = root.entries.get('monitors');
  if (!monitors) {
    // A word in its place was told already.
    if (reading.problems.length > before) return;
    complain(
      root.at,
      "'monitors' is missing; write monitors: with each monitor below it under a key",
    );
    return;
  }
  if (monitors.value === null) return;
  if (!monitors.entries) {
    complain(
      monitors.valueAt,
      "'monitors' must be an object with a key for each monitor, such as shop:",
    );
    return;
  }
  for (const [key, part] of monitors.entries) {
    if (reading.problems.length > MAX_PROBLEMS) return;
    await readMonitor({ key, part, file }, reading);
  }
}

async function readMonitor(
  { key, part, file }: { key: string; part: Located; file: string },
  reading: Reading,
): Promise<void> {
  const complain = complainer(reading, file);
  const before = reading.problems.length;
  if (!KEY.test(key)) {
    complain(
      part.at,
      `'${key.slice(0, 100)}' is not a valid key; use up to 100 letters, digits, dots, hyphens, slashes and underscores, beginning with a letter or digit`,
    );
    return;
  }
  const earlier = reading.wanted.get(key);
  if (earlier) {
    complain(
      part.at,
      `${key} is already declared in ${earlier.file}, line ${earlier.line}; give one of them another key`,
    );
    return;
  }
  if (!part.entries) {
    complain(
      part.value === null ? part.at : part.valueAt,
      `${key} must be an object, with target: and check_type: below it`,
    );
    return;
  }
  const definition = await readDefinition(key, part, { complain, reading });
  const shown = shownSecrets(part, definition);
  for (const { names, at } of shown) {
    complain(
      at,
      `the value of ${names.join(' and ')} looks like a secret and would be visible here; put it into a header whose name says so, such as Authorization, or a parameter of the target, such as token=`,
    );
  }
  // Other complaints quote what they are about.
  if (shown.length > 0) return;
  const maintenance = readMaintenance(part.entries.get('maintenance'), complain);
  const channels = readList(part.entries.get('channels'), complain, {
    what: 'channels',
    example: 'slack:C0123',
    fault: (text) => channelFault(text, reading.context.platforms),
  });
  const dependsOn = readList(part.entries.get('depends_on'), complain, {
    most: MAX_PARENTS,
    what: 'keys',
    example: 'database',
    fault: (text) => (text === key ? 'a monitor cannot depend on itself; remove it' : undefined),
  });
  const id = part.entries.get('id');
  if (id && (typeof id.value !== 'string' || !ID.test(id.value))) {
    complain(id.valueAt, 'must be the ID of a monitor as listed, such as mon_0123456789abcdef');
  }
  if (definition === undefined) return;
  if (reading.problems.length > before) return;
  const sameId = id && reading.ids.get(id.value as string);
  if (sameId !== undefined) {
    complain(id?.valueAt ?? part.at, `${sameId} has the same id; declare each monitor only once`);
    return;
  }
  if (id) reading.ids.set(id.value as string, key);
  reading.wanted.set(key, {
    key,
    file,
    line: part.at.line,
    ...(id && { id: id.value as string }),
    definition,
    maintenance,
    channels,
    dependsOn,
    at: part.at,
    dependsOnAt: part.entries.get('depends_on'),
  });
}

type Complain = ReturnType<typeof complainer>;

async function readDefinition(
  key: string,
  part: Located,
  { complain, reading }: { complain: Complain; reading: Reading },
): Promise<MonitorDefinition | undefined> {
  const { types, admit } = reading;
  const fields = (part.value ?? {}) as Record<string, unknown>;
  const given = {
    name: fields.name ?? key,
    target: fields.target,
    check_type: fields.check_type,
    config: fields.config ?? {},
  };
  const result = types.schema.safeParse(given, { error: plainWords });
  const settings = result.success ? types.settingsOf(result.data) : settingsOfType(types, given);
  let isSound = true;
  for (const [name, { at }] of part.entries ?? []) {
    if (Object.hasOwn(FIELDS, name)) continue;
    isSound = false;
    const remedy = settings.has(name)
      ? ' This is a setting; put it under config.'
      : didYouMean(name, Object.keys(FIELDS));
    complain(at, `unknown field '${name}'.${remedy} Fields: ${listed(Object.keys(FIELDS))}`);
  }
  if (!result.success) {
    complainAboutIssues(result.error.issues, { given, part, complain, settings, types });
    return undefined;
  }
  try {
    const definition = createdDefinition(result.data);
    await admit(definition);
    return isSound ? definition : undefined;
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    complainAt(part, stepsOf(error.param ?? '', part), sentenceOf(error), complain);
    return undefined;
  }
}

function complainAboutIssues(
  issues: readonly z.core.$ZodIssue[],
  {
    given,
    part,
    complain,
    settings,
    types,
  }: {
    given: { check_type: unknown };
    part: Located;
    complain: Complain;
    settings: ReadonlySet<string>;
    types: CheckTypes;
  },
) {
  const names = types.names;
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const name of issue.keys) {
        const path = [...issue.path, name];
        const remedy = didYouMean(name, settings);
        const all = settings.size > 0 ? ` ${String(given.check_type)} has ${listed(settings)}` : '';
        complain(partAt(part, path).part.at, `unknown field '${name}'${all && `.${remedy}${all}`}`);
      }
      continue;
    }
    if (issue.path[0] === 'check_type') {
      const word = typeof given.check_type === 'string' ? given.check_type : '';
      const what = given.check_type === undefined ? "'check_type' is missing." : 'unknown type.';
      complainAt(
        part,
        issue.path,
        `${what}${didYouMean(word, names)} Use ${either(names)}`,
        complain,
      );
      continue;
    }
    complainAt(part, issue.path, issue.message, complain);
  }
}

/** Complains where the value stands, or, where it is missing, where it belongs. */
function complainAt(
  part: Located,
  path: readonly PropertyKey[],
  message: string,
  complain: Complain,
) {
  const found = partAt(part, path);
  const name = String(path.at(-1) ?? '');
  if (found.isThere) {
    complain(found.part.valueAt, name === '' ? message : `${name}: ${message}`);
    return;
  }
  const isSaid = message.includes('missing');
  const example = FIELDS[name as keyof typeof FIELDS];
  const write = example ? `; write ${name}: ${example}` : ` (${message})`;
  complain(found.part.at, isSaid ? message : `'${name}' is missing${write}`);
}

/** The settings that a type has, where the monitor is none for another reason. */
function settingsOfType(types: CheckTypes, { check_type }: { check_type: unknown }) {
  return types.names.includes(String(check_type))
    ? types.settingsOf({ check_type: String(check_type) })
    : new Set<string>();
}

/** `config.headers.X-Shop` as steps: a name of a header may hold dots. */
function stepsOf(param: string, part: Located): string[] {
  const [first, second, ...rest] = param.split('.');
  const steps = [first, second, rest.join('.')].filter((step) => step !== undefined && step !== '');
  while (steps.length > 0 && !partAt(part, steps as string[]).isThere) steps.pop();
  return steps as string[];
}

/** Without what only means something to a caller of the API. */
const sentenceOf = ({ message }: HttpError) =>
  message.replace(/^Invalid '[^']*': /, '').replace(/\.$/, '');

function readMaintenance(part: Located | undefined, complain: Complain): MaintenanceWindow[] {
  if (part === undefined || part.value === null) return [];
  const windows = z
    .array(MaintenanceWindow)
    .max(MAX_LISTED)
    .safeParse(part.value, { error: plainWords });
  if (!windows.success) {
    for (const issue of windows.error.issues) complainAboutWindow(part, issue, complain);
    return [];
  }
  const fault = checkWindows(windows.data);
  if (fault) complainAt(part, fault.param.split('.').slice(1), fault.message, complain);
  return windows.data;
}

/** Of the kinds of windows, the one that was probably meant: that with the fewest faults. */
function complainAboutWindow(part: Located, issue: z.core.$ZodIssue, complain: Complain) {
  const kinds = issue.code === 'invalid_union' ? [...issue.errors] : [];
  const [likely] = kinds.sort((a, b) => faultsIn(a) - faultsIn(b));
  if (!likely) {
    complainAt(part, issue.path, issue.message, complain);
    return;
  }
  for (const one of likely) {
    const path = [...issue.path, ...one.path];
    if (one.code === 'unrecognized_keys') {
      for (const name of one.keys) {
        complain(
          partAt(part, [...path, name]).part.at,
          `unknown field '${name}' in a maintenance window`,
        );
      }
    } else complainAt(part, path, one.message || plainMessage(one), complain);
  }
}

const plainMessage = (issue: z.core.$ZodIssue) => {
  const words = plainWords(issue as never);
  return (typeof words === 'string' ? words : words?.message) ?? 'is not valid';
};

const faultsIn = (issues: readonly z.core.$ZodIssue[]) =>
  issues.reduce(
    (sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1),
    0,
  );

function readList(
  part: Located | undefined,
  complain: Complain,
  {
    what,
    example,
    fault,
    most = MAX_LISTED,
  }: { what: string; example: string; fault: (text: string) => string | undefined; most?: number },
): string[] {
  if (part === undefined || part.value === null) return [];
  if (!part.items) {
    complain(part.valueAt, `must be a list of ${what}, such as [${example}]`);
    return [];
  }
  if (part.items.length > most) complain(part.valueAt, `must have at most ${most} items`);
  const texts: string[] = [];
  for (const { value, valueAt } of part.items.slice(0, most)) {
    const wrong = typeof value === 'string' ? fault(value) : `must be a string, such as ${example}`;
    if (wrong !== undefined) complain(valueAt, wrong);
    else if (!texts.includes(value as string)) texts.push(value as string);
  }
  return texts;
}

function channelFault(text: string, platforms: readonly string[]): string | undefined {
  const platform = CHANNEL.exec(text)?.[1];
  if (platform === undefined) {
    return 'must be a channel with its platform, such as slack:C0123 or discord:4567';
  }
  if (platforms.includes(platform)) return undefined;
  return `unknown platform '${platform}'.${didYouMean(platform, platforms)} Platforms: ${listed(platforms)}`;
}

/** A text with secrets in a monitor. */
interface SecretUse {
  names: readonly string[];
  at: Position;
}

/**
 * The texts with secrets that people would see. Each is replaced by a mark of its own, and those whose marks are still in the
 * monitor as it is shown are returned; without a definition, those in other fields than its own.
 */
function shownSecrets(part: Located, definition: MonitorDefinition | undefined): SecretUse[] {
  const uses: SecretUse[] = [];
  const marked = (located: Located): unknown => {
    const { entries, items, secrets, valueAt: at } = located;
    if (entries) {
      return Object.fromEntries([...entries].map(([name, entry]) => [name, marked(entry)]));
    }
    if (items) return items.map(marked);
    if (!secrets) return located.value;
    uses.push({ names: secrets.names, at });
    return secrets.masked(`askwatch-mark-${uses.length - 1}-`);
  };
  const { target, config, ...others } = marked(part) as Record<string, unknown>;
  const meant = definition && {
    ...definition,
    ...(target !== undefined && { target }),
    config: { ...definition.config, ...(config as object | undefined) },
  };
  const shown = JSON.stringify([others, meant && withoutSecrets(meant as MonitorDefinition)]);
  const marks = new Set(
    [...shown.matchAll(/askwatch-mark-(\d+)-/g)].map(([, index]) => Number(index)),
  );
  return uses.filter((_, index) => marks.has(index));
}

function checkDependencies(reading: Reading): void {
  const { wanted } = reading;
  for (const { file, dependsOn, dependsOnAt } of wanted.values()) {
    for (const [index, key] of dependsOn.entries()) {
      if (reading.problems.length > MAX_PROBLEMS) return;
      if (wanted.has(key) || /^(mon_|alert:)/.test(key)) continue;
      const at = dependsOnAt?.items?.[index]?.valueAt ?? { line: 1, column: 1 };
      complainer(reading, file)(
        at,
        `no monitor has the key '${key.slice(0, 100)}'.${didYouMean(key, wanted.keys())} Use a key from these files, or the ID of another monitor`,
      );
    }
  }
  const circle = circleIn(wanted);
  if (!circle) return;
  const [first = ''] = circle;
  const monitor = wanted.get(first);
  if (!monitor) return;
  complainer(reading, monitor.file)(
    monitor.dependsOnAt?.valueAt ?? monitor.at,
    `these depend on one another in a circle: ${circle.slice(0, 10).join(' → ')} → ${first}; remove one of them`,
  );
}

/** Keys that depend on one another in a circle. */
function circleIn(wanted: ReadonlyMap<string, { dependsOn: readonly string[] }>) {
  const done = new Set<string>();
  for (const start of wanted.keys()) {
    const path: string[] = [];
    const waiting: Array<{ key: string; next: number }> = [{ key: start, next: 0 }];
    for (let top = waiting.at(-1); top; top = waiting.at(-1)) {
      const { key } = top;
      if (top.next === 0) {
        if (done.has(key)) {
          waiting.pop();
          continue;
        }
        path.push(key);
      }
      const onto = wanted.get(key)?.dependsOn[top.next];
      top.next += 1;
      if (onto === undefined) {
        done.add(key);
        path.pop();
        waiting.pop();
        continue;
      }
      const at = path.indexOf(onto);
      if (at !== -1) return path.slice(at);
      if (!done.has(onto)) waiting.push({ key: onto, next: 0 });
    }
  }
  return undefined;
}

const words = (type: 'conjunction' | 'disjunction') => {
  const format = new Intl.ListFormat('en-GB', { type });
  return (all: Iterable<string>) => format.format([...all]);
};

/** `a, b and c`. */
const listed = words('conjunction');

/** `a, b or c`. */
const either = words('disjunction');
