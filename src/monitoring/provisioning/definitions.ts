import { z } from 'zod';
import { MAX_PARENTS } from '../../contracts/monitoring.ts';
import { MaintenanceWindow } from '../../contracts/monitoring-additions.ts';
import { plainWords } from '../../contracts/plain-words.ts';
import { HttpError } from '../../http/errors.ts';
import { createSsrfGuard } from '../../http/ssrf-guard.ts';
import { createAdmission } from '../api/admission.ts';
import { createdDefinition } from '../api/monitor-change.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import { withoutSecrets } from '../checks/secret-values.ts';
import { checkWindows } from '../monitors/maintenance.ts';
import { MAX_MONITORS } from '../monitors/monitors.ts';
import { DefinitionsError, type FileProblem, MAX_PROBLEMS } from './problem.ts';
import { didYouMean } from './suggest.ts';
import { replaceVariables, type VariableValues } from './variables.ts';
import {
  type LocatedValue,
  partAt,
  type ReportProblem,
  readYaml,
  type TextPosition,
} from './yaml-file.ts';

export interface SourceFile {
  name: string;
  text: string;
}

/** Everything outside the files that decides how they are read. */
export interface ReadingContext extends VariableValues {
  /** Networks that checks may reach in addition to the public internet, CIDRs. */
  allowPrivate: readonly string[];
  /** Platforms whose channels may be named, such as `slack`. */
  platforms: readonly string[];
}

export interface FileMonitor {
  key: string;
  file: string;
  line: number;
  /** An existing monitor that becomes this one. */
  id?: string;
  definition: MonitorDefinition;
  maintenance: MaintenanceWindow[];
  channels: string[];
  /** Keys of other monitors of the files, or ids of monitors and alerts. */
  dependsOn: string[];
}

/** The fields of a monitor, with an example for the ones that must be there. */
const FIELDS = {
  name: 'Shop',
  target: 'https://shop.example.com',
  check_type: 'HTTP',
  config: '',
  channels: '["slack:C0123"]',
  depends_on: '[database]',
  tags: '[shop, eu]',
  runbook: 'https://wiki.example.com/shop',
  maintenance: '',
  id: '',
} as const;

const KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/;
const ID = /^[\w:-]{1,100}$/;
const ID_FAULT = 'must be the ID of a monitor as listed, such as mon_0123456789abcdef';
const CHANNEL = /^([a-z][a-z\d-]*):[^\s,]{1,200}$/;
const MAX_LISTED = 20;

/**
 * Reads monitors from files, with the schemas of the API, so the API's limits hold here too. Names are not looked up, because each
 * check asks again whether its target is allowed. Throws a `DefinitionsError` with all problems and their positions.
 */
export async function readDefinitions(
  files: readonly SourceFile[],
  context: ReadingContext,
  types: CheckTypes = shippedTypes,
): Promise<FileMonitor[]> {
  const reader = new DefinitionsReader(context, types);
  for (const file of files) await reader.readFile(file);
  return reader.finish();
}

interface ReadMonitor extends FileMonitor {
  at: TextPosition;
  dependsOnAt: LocatedValue | undefined;
}

class DefinitionsReader {
  private readonly monitors = new Map<string, ReadMonitor>();
  private readonly keysById = new Map<string, string>();
  private readonly problems: FileProblem[] = [];
  private readonly context: ReadingContext;
  private readonly types: CheckTypes;
  private readonly admit: ReturnType<typeof createAdmission>;
  private readonly otherFields: ReturnType<typeof otherFieldsSchema>;

  constructor(context: ReadingContext, types: CheckTypes) {
    this.context = context;
    this.types = types;
    const guard = createSsrfGuard([...context.allowPrivate]);
    this.admit = createAdmission({ types, guard, lookup: async () => [] });
    this.otherFields = otherFieldsSchema(context.platforms);
  }

  finish(): FileMonitor[] {
    this.checkDependencies();
    const [last] = [...this.monitors.values()].slice(MAX_MONITORS);
    if (last) {
      this.reporterFor(last.file)(
        last.at,
        `this is monitor ${MAX_MONITORS + 1}, and Askwatch holds at most ${MAX_MONITORS}; remove some`,
      );
    }
    if (this.problems.length > 0) throw new DefinitionsError(this.problems);
    return [...this.monitors.values()].map(({ at: _, dependsOnAt: __, ...monitor }) => monitor);
  }

  async readFile({ name: file, text }: SourceFile): Promise<void> {
    const report = this.reporterFor(file);
    const root = readYaml(text, {
      report,
      replace: (written, at) => {
        const result = replaceVariables(written, this.context);
        if (!('fault' in result)) return result;
        report(at, result.fault);
        return { text: written };
      },
    });
    const monitors = root && readRoot(root, report);
    for (const [key, part] of monitors ?? []) {
      if (this.problems.length > MAX_PROBLEMS) return;
      await this.readMonitor(key, part, file);
    }
  }

  private reporterFor(file: string): ReportProblem {
    const { problems } = this;
    return ({ line, column }, message) => {
      if (problems.length < MAX_PROBLEMS) problems.push({ file, line, column, message });
      else if (problems.length === MAX_PROBLEMS) {
        const more = `there are more problems; only the first ${MAX_PROBLEMS} are shown`;
        problems.push({ file, line, column, message: more });
      }
    };
  }

  private async readMonitor(key: string, part: LocatedValue, file: string): Promise<void> {
    const report = this.reporterFor(file);
    const problemsBefore = this.problems.length;
    if (!this.checkKey(key, part, report)) return;
    const definition = await this.readDefinition(key, part, report);
    const exposed = exposedSecrets(part, definition);
    for (const { names, at } of exposed) {
      report(
        at,
        `the value of ${names.join(' and ')} looks like a secret and would be visible here; put it into a header whose name says so, such as Authorization, or a parameter of the target, such as token=`,
      );
    }
    // Other problems quote the values they are about.
    if (exposed.length > 0) return;
    const maintenance = readMaintenance(part.entries?.get('maintenance'), report);
    const rest = readOtherFields(key, part, this.otherFields, report);
    if (!definition || !rest || this.problems.length > problemsBefore) return;
    const { id } = rest;
    const sameId = id === undefined ? undefined : this.keysById.get(id);
    if (sameId !== undefined) {
      const at = partAt(part, ['id']).part.valueAt;
      report(at, `${sameId} has the same id; declare each monitor only once`);
      return;
    }
    if (id !== undefined) this.keysById.set(id, key);
    const { line } = part.at;
    const dependsOnAt = part.entries?.get('depends_on');
    const monitor = { key, file, line, definition, maintenance, ...rest };
    this.monitors.set(key, { ...monitor, at: part.at, dependsOnAt });
  }

  private checkKey(key: string, part: LocatedValue, report: ReportProblem): boolean {
    const earlier = this.monitors.get(key);
    if (!KEY.test(key)) {
      report(
        part.at,
        `'${key.slice(0, 100)}' is not a valid key; use up to 100 letters, digits, dots, hyphens, slashes and underscores, beginning with a letter or digit`,
      );
    } else if (earlier) {
      report(
        part.at,
        `${key} is already declared in ${earlier.file}, line ${earlier.line}; give one of them another key`,
      );
    } else if (!part.entries) {
      report(
        part.value === null ? part.at : part.valueAt,
        `${key} must be an object, with target: and check_type: below it`,
      );
    } else return true;
    return false;
  }

  private async readDefinition(
    key: string,
    part: LocatedValue,
    report: ReportProblem,
  ): Promise<MonitorDefinition | undefined> {
    const { types } = this;
    const fields = (part.value ?? {}) as Record<string, unknown>;
    const { name = key, target, check_type, config = {}, tags, runbook } = fields;
    const others = { ...(tags != null && { tags }), ...(runbook != null && { runbook }) };
    const written = { name, target, check_type, config, ...others };
    const result = types.schema.safeParse(written, { error: plainWords });
    const settings = types.names.includes(String(check_type))
      ? types.settingsOf({ check_type: String(check_type) })
      : new Set<string>();
    const isKnown = checkFields(part, settings, report);
    if (!result.success) {
      for (const issue of result.error.issues) {
        reportDefinitionIssue(issue, { part, checkType: check_type, settings, types, report });
      }
      return undefined;
    }
    try {
      const definition = createdDefinition(result.data);
      await this.admit(definition);
      return isKnown ? definition : undefined;
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      reportAt(part, stepsOf(error.param ?? '', part), sentenceOf(error), report);
      return undefined;
    }
  }

  private checkDependencies(): void {
    const { monitors } = this;
    for (const { file, dependsOn, dependsOnAt } of monitors.values()) {
      for (const [index, key] of dependsOn.entries()) {
        if (this.problems.length > MAX_PROBLEMS) return;
        if (monitors.has(key) || /^(mon_|alert:)/.test(key)) continue;
        this.reporterFor(file)(
          dependsOnAt?.items?.[index]?.valueAt ?? { line: 1, column: 1 },
          `no monitor has the key '${key.slice(0, 100)}'.${didYouMean(key, monitors.keys())} Use a key from these files, or the ID of another monitor`,
        );
      }
    }
    const circle = findCircle(monitors);
    const first = monitors.get(circle?.[0] ?? '');
    if (!circle || !first) return;
    this.reporterFor(first.file)(
      first.dependsOnAt?.valueAt ?? first.at,
      `these depend on one another in a circle: ${circle.slice(0, 10).join(' → ')} → ${first.key}; remove one of them`,
    );
  }
}

/** The monitors of a file by their keys; `undefined` if it has none, or none that can be read. */
function readRoot(
  root: LocatedValue,
  report: ReportProblem,
): ReadonlyMap<string, LocatedValue> | undefined {
  if (root.value === null) {
    report(
      root.at,
      'the file is empty; write monitors: with the monitors below it, or monitors: {} for none',
    );
    return undefined;
  }
  if (!root.entries) {
    report(root.at, 'a file must begin with monitors:, with each monitor below it under a key');
    return undefined;
  }
  const unknown = [...root.entries].filter(
    ([name]) => name !== 'monitors' && !name.startsWith('x-'),
  );
  for (const [name, part] of unknown) {
    report(
      part.at,
      `unknown field '${name}'.${didYouMean(name, ['monitors'])} Use monitors:, or begin the name with x- for values that aliases refer to`,
    );
  }
  const monitors = root.entries.get('monitors');
  if (!monitors && unknown.length === 0) {
    report(
      root.at,
      "'monitors' is missing; write monitors: with each monitor below it under a key",
    );
  } else if (monitors && monitors.value !== null && !monitors.entries) {
    report(
      monitors.valueAt,
      "'monitors' must be an object with a key for each monitor, such as shop:",
    );
  }
  return monitors?.entries;
}

function checkFields(
  part: LocatedValue,
  settings: ReadonlySet<string>,
  report: ReportProblem,
): boolean {
  const names = Object.keys(FIELDS);
  const unknown = [...(part.entries ?? [])].filter(([name]) => !Object.hasOwn(FIELDS, name));
  for (const [name, { at }] of unknown) {
    const remedy = settings.has(name)
      ? ' This is a setting; put it under config.'
      : didYouMean(name, names);
    report(at, `unknown field '${name}'.${remedy} Fields: ${listAnd(names)}`);
  }
  return unknown.length === 0;
}

function reportDefinitionIssue(
  issue: z.core.$ZodIssue,
  {
    part,
    checkType,
    settings,
    types,
    report,
  }: {
    part: LocatedValue;
    checkType: unknown;
    settings: ReadonlySet<string>;
    types: CheckTypes;
    report: ReportProblem;
  },
): void {
  if (issue.code === 'unrecognized_keys') {
    const all = settings.size > 0 ? ` ${String(checkType)} has ${listAnd(settings)}` : '';
    for (const name of issue.keys) {
      const remedy = all && `.${didYouMean(name, settings)}${all}`;
      report(partAt(part, [...issue.path, name]).part.at, `unknown field '${name}'${remedy}`);
    }
  } else if (issue.path[0] === 'check_type') {
    const fault = checkType === undefined ? "'check_type' is missing." : 'unknown type.';
    const word = typeof checkType === 'string' ? checkType : '';
    const remedy = `${didYouMean(word, types.names)} Use ${listOr(types.names)}`;
    reportAt(part, issue.path, `${fault}${remedy}`, report);
  } else reportAt(part, issue.path, issue.message, report);
}

/** Reports a problem at the value, or at the part that should hold it if it is missing. */
function reportAt(
  root: LocatedValue,
  path: readonly PropertyKey[],
  message: string,
  report: ReportProblem,
): void {
  const { part, isPresent } = partAt(root, path);
  const name = String(path.findLast((step) => typeof step !== 'number') ?? '');
  if (isPresent) report(part.valueAt, name === '' ? message : `${name}: ${message}`);
  else if (message.includes('missing')) report(part.at, message);
  else {
    const example = FIELDS[name as keyof typeof FIELDS];
    const remedy = example ? `; write ${name}: ${example}` : ` (${message})`;
    report(part.at, `'${name}' is missing${remedy}`);
  }
}

/** Splits `config.headers.X-Shop` into the steps that exist; a header's name may contain dots. */
function stepsOf(param: string, part: LocatedValue): string[] {
  const [first = '', second = '', ...rest] = param.split('.');
  const steps = [first, second, rest.join('.')].filter((step) => step !== '');
  while (steps.length > 0 && !partAt(part, steps).isPresent) steps.pop();
  return steps;
}

/** The message without the words that only callers of the API need. */
const sentenceOf = ({ message }: HttpError) =>
  message.replace(/^Invalid '[^']*': /, '').replace(/\.$/, '');

function readMaintenance(
  part: LocatedValue | undefined,
  report: ReportProblem,
): MaintenanceWindow[] {
  if (part === undefined || part.value === null) return [];
  const windows = z
    .array(MaintenanceWindow)
    .max(MAX_LISTED)
    .safeParse(part.value, { error: plainWords });
  if (!windows.success) {
    for (const issue of windows.error.issues) reportWindowIssue(part, issue, report);
    return [];
  }
  const fault = checkWindows(windows.data);
  if (fault) reportAt(part, fault.param.split('.').slice(1), fault.message, report);
  return windows.data;
}

/** A window that fits none of the kinds is reported as the kind with the fewest problems, which was probably meant. */
function reportWindowIssue(part: LocatedValue, issue: z.core.$ZodIssue, report: ReportProblem) {
  const kinds = issue.code === 'invalid_union' ? [...issue.errors] : [];
  const [likely = [issue]] = kinds.sort((a, b) => problemCount(a) - problemCount(b));
  for (const one of likely) {
    const path = one === issue ? issue.path : [...issue.path, ...one.path];
    if (one.code === 'unrecognized_keys') {
      for (const name of one.keys) {
        const { at } = partAt(part, [...path, name]).part;
        report(at, `unknown field '${name}' in a maintenance window`);
      }
    } else reportAt(part, path, one.message || plainMessage(one), report);
  }
}

const plainMessage = (issue: z.core.$ZodIssue) => {
  const words = plainWords(issue as never);
  return (typeof words === 'string' ? words : words?.message) ?? 'is not valid';
};

const problemCount = (issues: readonly z.core.$ZodIssue[]) =>
  issues.reduce(
    (sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1),
    0,
  );

/** The fields that the API takes elsewhere. */
const otherFieldsSchema = (platforms: readonly string[]) =>
  z.object({
    id: z.string(ID_FAULT).regex(ID, ID_FAULT).optional(),
    channels: textList('channels', 'slack:C0123', MAX_LISTED, (text) =>
      channelFault(text, platforms),
    ),
    depends_on: textList('keys', 'database', MAX_PARENTS),
  });

function readOtherFields(
  key: string,
  part: LocatedValue,
  schema: ReturnType<typeof otherFieldsSchema>,
  report: ReportProblem,
): Pick<FileMonitor, 'id' | 'channels' | 'dependsOn'> | undefined {
  const result = schema.safeParse(part.value);
  if (!result.success) {
    for (const { path, message } of result.error.issues) {
      report(partAt(part, path).part.valueAt, message);
    }
    return undefined;
  }
  const { id, channels, depends_on: dependsOn } = result.data;
  const own = part.entries?.get('depends_on')?.items?.find(({ value }) => value === key);
  if (own) report(own.valueAt, 'a monitor cannot depend on itself; remove it');
  return { id, channels, dependsOn };
}

/** A list of different texts; an absent one is empty. */
function textList(
  noun: string,
  example: string,
  most: number,
  faultOf: (text: string) => string | undefined = () => undefined,
) {
  const item = z.string(`must be a string, such as ${example}`).superRefine((text, context) => {
    const fault = faultOf(text);
    if (fault !== undefined) context.addIssue(fault);
  });
  return z
    .array(item, `must be a list of ${noun}, such as [${example}]`)
    .max(most, `must have at most ${most} items`)
    .nullish()
    .transform((texts) => [...new Set(texts)]);
}

function channelFault(text: string, platforms: readonly string[]): string | undefined {
  const platform = CHANNEL.exec(text)?.[1];
  if (platform === undefined) {
    return 'must be a channel with its platform, such as slack:C0123 or discord:4567';
  }
  if (platforms.includes(platform)) return undefined;
  return `unknown platform '${platform}'.${didYouMean(platform, platforms)} Platforms: ${listAnd(platforms)}`;
}

interface SecretUse {
  names: readonly string[];
  at: TextPosition;
}

/**
 * The texts with secrets that people would see. Each secret is replaced by a mark, and the marks that remain in the monitor as it
 * is shown are exposed. Without a definition only the other fields are searched.
 */
function exposedSecrets(
  part: LocatedValue,
  definition: MonitorDefinition | undefined,
): SecretUse[] {
  const uses: SecretUse[] = [];
  const markSecrets = (located: LocatedValue): unknown => {
    const { entries, items, secrets, valueAt: at } = located;
    if (entries) {
      return Object.fromEntries([...entries].map(([name, entry]) => [name, markSecrets(entry)]));
    }
    if (items) return items.map(markSecrets);
    if (!secrets) return located.value;
    uses.push({ names: secrets.names, at });
    return secrets.masked(`askwatch-mark-${uses.length - 1}-`);
  };
  const { target, config, ...others } = markSecrets(part) as Record<string, unknown>;
  const marked = definition && {
    ...definition,
    ...(target !== undefined && { target }),
    config: { ...definition.config, ...(config as object | undefined) },
  };
  const shown = JSON.stringify([others, marked && withoutSecrets(marked as MonitorDefinition)]);
  const marks = new Set(
    [...shown.matchAll(/askwatch-mark-(\d+)-/g)].map(([, index]) => Number(index)),
  );
  return uses.filter((_, index) => marks.has(index));
}

/** Keys that depend on one another in a circle. */
function findCircle(
  monitors: ReadonlyMap<string, { dependsOn: readonly string[] }>,
): string[] | undefined {
  const done = new Set<string>();
  for (const start of monitors.keys()) {
    const path: string[] = [];
    for (let key: string | undefined = start; key !== undefined; ) {
      const known = path.indexOf(key);
      if (known !== -1) return path.slice(known);
      path.push(key);
      const parents: readonly string[] = monitors.get(key)?.dependsOn ?? [];
      const parent = parents.find((one) => monitors.has(one) && !done.has(one));
      if (parent === undefined) {
        done.add(key);
        path.pop();
      }
      // With all parents done, the search continues with the monitor before it.
      key = parent ?? path.pop();
    }
  }
  return undefined;
}

const listAnd = (words: Iterable<string>) =>
  new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(words);

const listOr = (words: Iterable<string>) =>
  new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words);
