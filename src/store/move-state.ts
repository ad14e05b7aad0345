import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ANY_VERSION, VersionedDocument } from './documents.ts';
import { StateMovedError } from './errors.ts';
import { capitalized, type MovableStore } from './move-mark.ts';
import type { Collection, Journal, JournalRecord, KeyedChanges, Store } from './store.ts';

const WRITE_COUNT = 500;

/** Their number, and the sum of their hashes, which is the same in any order. */
export interface Digest {
  count: number;
  sum: string;
}

const SUM_BITS = 256;

export interface StatePart {
  /** For the summary, for example `documents`. */
  kind: string;
  name: string;
  /** Items as texts. Both engines give the same texts for the same state. */
  read(side: 'from' | 'to'): AsyncIterable<string>;
  /** Makes the other side the same. */
  copy(): Promise<void>;
}

/** Digests of a part on both sides. */
export interface ComparedPart {
  kind: string;
  name: string;
  from: Digest;
  to: Digest;
}

/** State that an engine keeps in a form of its own, and the names that belong to it. */
export interface SpecialParts {
  /** Values that are `sharedValues` for the program. */
  sharedValues: readonly string[];
  /** Collections and journals that `open` reads and writes. */
  names: readonly string[];
  open(from: Store, to: Store): Promise<StatePart[]>;
}

export const isSame = ({ from, to }: ComparedPart) =>
  from.count === to.count && from.sum === to.sum;

/** Opens everything that either side holds. */
export async function openParts(
  { store: from }: MovableStore,
  { store: to }: MovableStore,
  special: SpecialParts,
): Promise<StatePart[]> {
  const [fromNames, toNames] = [await from.names(), await to.names()];
  const excluded = new Set([...special.names, ...special.sharedValues]);
  const namesOf = (kind: 'collections' | 'journals' | 'keyed') =>
    [...new Set([...fromNames[kind], ...toNames[kind]])]
      .filter((name) => !excluded.has(name))
      .sort();
  const parts: StatePart[] = [keyPart(from, to)];
  for (const name of namesOf('collections')) parts.push(documentsPart(name, from, to));
  for (const name of namesOf('journals')) parts.push(recordsPart(name, from, to));
  for (const name of namesOf('keyed')) parts.push(await itemsPart(name, from, to));
  for (const name of special.sharedValues) parts.push(await valuesPart(name, from, to));
  return [...parts, ...(await special.open(from, to))];
}

/** Compares all parts without a change to either side. */
export async function* compareState(parts: readonly StatePart[]): AsyncGenerator<ComparedPart> {
  for (const part of parts) yield await compare(part);
}

/**
 * Moves all parts that aren't the same already, so a killed run is continued. Yields each part once it is the same on both sides, and
 * nothing if everything was moved before. From the end on, programs use `to` and refuse `from`.
 */
export async function* moveState(
  from: MovableStore,
  to: MovableStore,
  parts: readonly StatePart[],
): AsyncGenerator<ComparedPart> {
  if (await isMoved(from, to, parts)) return;
  await to.setMark({ state: 'copying', from: from.place });
  for (const part of parts) {
    assertHeld(from, to);
    let compared = await compare(part);
    if (!isSame(compared)) {
      await part.copy();
      compared = await compare(part);
    }
    if (!isSame(compared)) {
      throw new Error(
        `${part.name} (${part.kind}) differs after it was copied: ${compared.from.count} and ${compared.to.count} items. Nothing is lost: ${from.place} is unchanged.`,
      );
    }
    if (compared.to.count > 0) yield compared;
  }
  assertHeld(from, to);
  // A kill between the two marks leaves neither side usable, and the next run finishes.
  await from.setMark({ state: 'moved', to: to.place, atMs: Date.now() });
  await to.setMark(undefined);
}

/** Throws unless there is something to move, and nothing at the target except an unfinished copy of it. */
async function isMoved(
  from: MovableStore,
  to: MovableStore,
  parts: readonly StatePart[],
): Promise<boolean> {
  const [fromMark, toMark] = [await from.mark(), await to.mark()];
  const isOwnCopy = toMark?.state === 'copying' && toMark.from === from.place;
  if (fromMark?.state === 'copying') {
    throw new StateMovedError(
      `${capitalized(from.place)} holds an unfinished copy of ${fromMark.from}, which cannot be moved. Finish that copy first, or ${from.howToEmpty}.`,
    );
  }
  if (fromMark && fromMark.to !== to.place) {
    throw new StateMovedError(`The state in ${from.place} was already moved to ${fromMark.to}.`);
  }
  const isTargetEmpty = await isEmpty('to', parts);
  if (fromMark && toMark === undefined && !isTargetEmpty) return true;
  if (await isEmpty('from', parts)) {
    throw new StateMovedError(`Nothing to move in ${from.place}.`);
  }
  if (isOwnCopy || (toMark === undefined && isTargetEmpty)) return false;
  const what =
    toMark?.state === 'copying'
      ? `holds an unfinished copy of another source, ${toMark.from}`
      : `is not empty${toMark ? `: its state was moved to ${toMark.to}` : ''}`;
  throw new StateMovedError(
    `${capitalized(to.place)} ${what}. Existing state is never overwritten: ${to.howToEmpty}.`,
  );
}

async function isEmpty(side: 'from' | 'to', parts: readonly StatePart[]): Promise<boolean> {
  for (const part of parts) for await (const _ of part.read(side)) return false;
  return true;
}

function assertHeld(...sides: MovableStore[]): void {
  const lost = sides.find((side) => side.lost.aborted);
  if (!lost) return;
  throw new Error(
    `${capitalized(lost.place)} could not be reached for too long, so others may use it again. Run this once more; it continues where it stopped.`,
  );
}

async function compare(part: StatePart): Promise<ComparedPart> {
  const { kind, name } = part;
  return {
    kind,
    name,
    from: await digestOf(part.read('from')),
    to: await digestOf(part.read('to')),
  };
}

async function digestOf(items: AsyncIterable<string>): Promise<Digest> {
  let count = 0;
  let sum = 0n;
  for await (const text of items) {
    count += 1;
    const hash = createHash('sha256').update(text).digest('hex');
    sum = BigInt.asUintN(SUM_BITS, sum + BigInt(`0x${hash}`));
  }
  return { count, sum: sum.toString(16) };
}

function keyPart(from: Store, to: Store): StatePart {
  const keys = { from: from.key, to: to.key };
  return {
    kind: 'keys of secrets',
    name: 'secret-key',
    async *read(side) {
      const key = await keys[side].read();
      if (key !== 'missing') yield JSON.stringify(key);
    },
    copy: async () => await to.key.restore(await from.key.read()),
  };
}

function documentsPart(name: string, from: Store, to: Store): StatePart {
  const open = (store: Store): Collection<VersionedDocument> =>
    store.collection({
      name,
      schema: VersionedDocument,
      version: ANY_VERSION,
      whenCorrupt: 'refuse',
    });
  const sides = { from: open(from), to: open(to) };
  return {
    kind: 'documents',
    name,
    async *read(side) {
      for (const { id, document } of await sides[side].list()) yield JSON.stringify([id, document]);
    },
    async copy() {
      const wanted = new Map((await sides.from.list()).map(({ id, document }) => [id, document]));
      const known = (await sides.to.list()).map(({ id }) => id);
      const ids = [...new Set([...wanted.keys(), ...known])];
      await inBatches(ids, (id) => sides.to.update(id, () => wanted.get(id)));
    },
  };
}

function recordsPart(name: string, from: Store, to: Store): StatePart {
  // The record itself: another schema might change the order of its fields.
  const schema = z.custom<JournalRecord>(
    (record) => typeof (record as JournalRecord | null)?.atMs === 'number',
  );
  const sides = { from: from.journal({ name, schema }), to: to.journal({ name, schema }) };
  return {
    kind: 'records',
    name,
    async *read(side) {
      for await (const record of sides[side].read()) yield JSON.stringify(record);
    },
    async copy() {
      await sides.to.clear();
      await copyRecords(sides.from.read(), sides.to);
    },
  };
}

/** Appends records in their order, many at a time. */
export async function copyRecords<T extends JournalRecord>(
  records: AsyncIterable<T>,
  journal: Journal<T>,
): Promise<void> {
  let batch: T[] = [];
  for await (const record of records) {
    batch.push(record);
    if (batch.length < WRITE_COUNT) continue;
    await Promise.all(batch.map((one) => journal.append(one)));
    batch = [];
  }
  await Promise.all(batch.map((one) => journal.append(one)));
}

async function itemsPart(name: string, from: Store, to: Store): Promise<StatePart> {
  const open = (store: Store) =>
    store.keyed<unknown>({ name, schema: z.unknown(), whenCorrupt: 'refuse' });
  const sides = { from: await open(from), to: await open(to) };
  return {
    kind: 'items',
    name,
    async *read(side) {
      for (const item of sides[side].items()) yield JSON.stringify(item);
    },
    async copy() {
      const changes = new Map<string, unknown>(sides.from.items());
      for (const id of sides.to.items().keys()) {
        if (!changes.has(id)) changes.set(id, undefined);
      }
      await sides.to.write(changes as KeyedChanges<unknown>);
    },
  };
}

async function valuesPart(name: string, from: Store, to: Store): Promise<StatePart> {
  async function open(store: Store) {
    const values = new Map<string, unknown>();
    const shared = await store.sharedValues<unknown>({
      name,
      schema: z.unknown(),
      current: (id) => (values.has(id) ? { value: values.get(id), onEnd() {} } : undefined),
      onStored: (id, { value }) => void values.set(id, value),
    });
    return { values, shared };
  }
  const sides = { from: await open(from), to: await open(to) };
  return {
    kind: 'values',
    name,
    async *read(side) {
      for (const value of sides[side].values) yield JSON.stringify(value);
    },
    async copy() {
      const { values, shared } = sides.to;
      for (const id of values.keys()) {
        if (sides.from.values.has(id)) continue;
        values.delete(id);
        shared.delete(id);
      }
      for (const [id, value] of sides.from.values) values.set(id, value);
      await Promise.all([...values.keys()].map((id) => shared.save(id)));
      await shared.idle();
    },
  };
}

async function inBatches<T>(items: readonly T[], task: (item: T) => Promise<unknown>) {
  for (let at = 0; at < items.length; at += WRITE_COUNT) {
    await Promise.all(items.slice(at, at + WRITE_COUNT).map(task));
  }
}
