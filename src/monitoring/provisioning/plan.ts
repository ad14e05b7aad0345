import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { beginTurn } from '../../contracts/event-loop.ts';
import { LEFT_KEPT_HOURS } from '../../contracts/monitoring.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import { withoutSecrets } from '../checks/secret-values.ts';
import type { DeclaredMonitor, WatchedMonitor } from '../monitors/monitors.ts';
import { HOUR_MS } from '../time/clock.ts';
import type { FileMonitor } from './definitions.ts';

/** An existing monitor, with the parts that files declare. */
export type ExistingMonitor = Pick<
  WatchedMonitor,
  'id' | 'definition' | 'maintenance' | 'managedBy' | 'channels'
> & { isPaused: boolean };

export interface FieldChange {
  field: string;
  before: unknown;
  after: unknown;
  /** Only a secret in it changes. */
  isSecret?: boolean;
}

export type PlanStep =
  | { kind: 'create'; id: string; key: string; declared: DeclaredMonitor }
  | {
      kind: 'change';
      id: string;
      key: string;
      declared: DeclaredMonitor;
      changes: FieldChange[];
      /** No file declared it before, or under another key. */
      isAdopted: boolean;
      /** It is paused, and its checks resume. */
      resumes: boolean;
    }
  | { kind: 'pause'; id: string; key: string; name: string; leftAtMs: number }
  | { kind: 'remove'; id: string; key: string; name: string };

export interface Plan {
  steps: PlanStep[];
  unchanged: number;
  /** Set if so many monitors leave the files that a person must confirm it; `answer` confirms exactly this plan. */
  question?: { leaving: number; of: number; answer: string };
  /** Time of the next removal of a monitor that left the files, Unix milliseconds. */
  nextRemovalMs?: number;
}

/** With so few monitors, leaving ones are no sign of a mistake. */
const FEW = 4;

const LEFT_KEPT_MS = LEFT_KEPT_HOURS * HOUR_MS;

/** A new monitor's id is the same in every process, so creating it twice creates it once. */
const newIdOf = (key: string, type: string) =>
  `mon_${hash('sha256', JSON.stringify(['declared', type, key])).slice(0, 16)}`;

/** Identifies a monitor in files. Another type of check makes another monitor, which gets no history. */
const identityOf = (key: string, type: string) => `${type} ${key}`;

/** Plans the steps that make the monitors as the files declare them. Works in turns, since there may be ten thousand. */
export async function planFor(
  wanted: readonly FileMonitor[],
  standing: readonly ExistingMonitor[],
  nowMs: number,
): Promise<Plan> {
  const turn = beginTurn();
  const byId = new Map(standing.map((monitor) => [monitor.id, monitor]));
  const managed = new Map<string, ExistingMonitor>();
  for (const monitor of standing) {
    if (monitor.managedBy) {
      managed.set(identityOf(monitor.managedBy.key, monitor.definition.check_type), monitor);
    }
  }
  const identities = new Set(
    wanted.map(({ key, definition }) => identityOf(key, definition.check_type)),
  );
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  for (const one of wanted) {
    const id = idFor(one, { byId, managed, identities, taken });
    ids.set(one.key, id);
    taken.add(id);
  }

  const steps: PlanStep[] = [];
  let unchanged = 0;
  for (const one of wanted) {
    if (turn.isOver()) await turn.next();
    const id = ids.get(one.key) ?? '';
    const declared = declaredOf(one, ids);
    const there = byId.get(id);
    if (!there) {
      steps.push({ kind: 'create', id, key: one.key, declared });
      continue;
    }
    const changes = changesOf(there, declared);
    const isAdopted = there.managedBy?.key !== one.key;
    const resumes = there.isPaused;
    if (changes.length === 0 && !isAdopted && !resumes) unchanged += 1;
    else steps.push({ kind: 'change', id, key: one.key, declared, changes, isAdopted, resumes });
  }

  const left = standing.filter(({ id, managedBy }) => managedBy && !taken.has(id));
  const leaving: string[] = [];
  let nextRemovalMs: number | undefined;
  for (const { id, managedBy, definition, isPaused } of left) {
    const { key = '', leftAtMs } = managedBy ?? {};
    const rest = { id, key, name: definition.name };
    if (leftAtMs === undefined) leaving.push(id);
    const removedAtMs = (leftAtMs ?? nowMs) + LEFT_KEPT_MS;
    if (removedAtMs <= nowMs) {
      steps.push({ kind: 'remove', ...rest });
      continue;
    }
    nextRemovalMs = Math.min(removedAtMs, nextRemovalMs ?? removedAtMs);
    if (leftAtMs === undefined || !isPaused) {
      steps.push({ kind: 'pause', ...rest, leftAtMs: leftAtMs ?? nowMs });
    }
  }
  const of = standing.filter(
    ({ managedBy }) => managedBy && managedBy.leftAtMs === undefined,
  ).length;
  const isMuch = wanted.length === 0 || (of > FEW && leaving.length * 2 > of);
  const answer = hash('sha256', JSON.stringify(leaving.sort()));
  return {
    steps,
    unchanged,
    question: leaving.length > 0 && isMuch ? { leaving: leaving.length, of, answer } : undefined,
    nextRemovalMs,
  };
}

/** Finds the monitor that a file means: the one with its key, else the one with its id, else a new one. */
function idFor(
  { key, id, definition: { check_type: type } }: FileMonitor,
  {
    byId,
    managed,
    identities,
    taken,
  }: {
    byId: ReadonlyMap<string, ExistingMonitor>;
    managed: ReadonlyMap<string, ExistingMonitor>;
    identities: ReadonlySet<string>;
    taken: ReadonlySet<string>;
  },
): string {
  const known = managed.get(identityOf(key, type));
  if (known) return known.id;
  const named = id === undefined ? undefined : byId.get(id);
  const isFree =
    named?.managedBy === undefined || !identities.has(identityOf(named.managedBy.key, type));
  // It belongs to no file any more, or had another key until now.
  const isMeant = isFree && named?.definition.check_type === type && !taken.has(named.id);
  if (isMeant) return named.id;
  const made = newIdOf(key, type);
  return taken.has(made) ? newIdOf(`${key}#`, type) : made;
}

function declaredOf(
  { key, file, line, definition, maintenance, channels, dependsOn }: FileMonitor,
  ids: ReadonlyMap<string, string>,
): DeclaredMonitor {
  const parents = dependsOn.map((parent) => ids.get(parent) ?? parent);
  return {
    definition: parents.length > 0 ? { ...definition, depends_on: parents } : definition,
    maintenance,
    channels,
    managedBy: { file, line, key },
  };
}

function changesOf(there: ExistingMonitor, declared: DeclaredMonitor): FieldChange[] {
  const changes = differences(there.definition, declared.definition);
  const others: Array<[string, unknown, unknown]> = [
    ['maintenance', there.maintenance, declared.maintenance],
    ['channels', there.channels ?? [], declared.channels],
    ['file', there.managedBy?.file, declared.managedBy.file],
  ];
  if (there.managedBy?.leftAtMs !== undefined) others.push(['left the file', true, false]);
  for (const [field, before, after] of others) {
    if (!isDeepStrictEqual(before, after)) changes.push({ field, before, after });
  }
  return changes;
}

/** Compares the real values, and shows them without secrets. */
function differences(there: MonitorDefinition, declared: MonitorDefinition): FieldChange[] {
  // Nearly all monitors are equal.
  if (isDeepStrictEqual(there, declared)) return [];
  const [old, now] = [fieldsOf(there), fieldsOf(declared)];
  const [oldShown, nowShown] = [withoutSecrets(there), withoutSecrets(declared)].map(fieldsOf);
  const changes: FieldChange[] = [];
  for (const field of new Set([...old.keys(), ...now.keys()])) {
    if (isDeepStrictEqual(old.get(field), now.get(field))) continue;
    const [before, after] = [oldShown?.get(field), nowShown?.get(field)];
    const isSecret = isDeepStrictEqual(before, after);
    changes.push({ field, before, after, ...(isSecret && { isSecret }) });
  }
  return changes;
}

/** Values by path; each header has its own. */
function fieldsOf({
  name,
  target,
  config,
  depends_on: parents = [],
  tags = [],
  runbook = '',
}: MonitorDefinition) {
  const fields = new Map<string, unknown>([
    ['name', name],
    ['target', target],
    ['depends_on', parents],
    ['tags', tags],
    ['runbook', runbook],
  ]);
  for (const [key, value] of Object.entries<unknown>(config)) {
    if (key === 'headers') {
      for (const [header, text] of Object.entries(value as object)) {
        fields.set(`config.headers.${header}`, text);
      }
    } else if (value !== undefined) fields.set(`config.${key}`, value);
  }
  return fields;
}
