import { createHash } from 'node:crypto';
import { StateMovedError } from './errors.ts';
import { capitalized, type RawState, type StatePart } from './raw-state.ts';

/** How much there is of something: the number of its items, and the sum of their hashes, which knows no order. */
export interface Digest {
  count: number;
  sum: string;
}

/** A group as it was found on both sides. */
export interface Compared {
  part: string;
  group: string;
  from: Digest;
  to: Digest;
}

type OnCopied = (copied: { part: string; group: string; count: number }) => void;

const EMPTY: Digest = { count: 0, sum: '0'.repeat(64) };
const SUM_BITS = 256;

/** Whether both sides hold the same. */
export const isSame = ({ from, to }: Compared) => from.count === to.count && from.sum === to.sum;

/** Compares all that both hold, and changes nothing. */
export async function* compareState(from: RawState, to: RawState): AsyncGenerator<Compared> {
  for (const [source, target] of pairs(from, to)) {
    for (const group of await groupsOf(source, target)) {
      yield {
        part: source.name,
        group,
        from: await digestOf(source.read(group)),
        to: await digestOf(target.read(group)),
      };
    }
  }
}

/**
 * Moves all state: what is there already and the same is left, so that it goes on where a killed one ended. Yields each group
 * once it is on the other side, compared; none when an earlier run has moved all. From the end on, the program uses `to` and refuses `from`; at every moment
 * before, it uses `from` at most.
 */
export async function* moveState(
  from: RawState,
  to: RawState,
  /** Called with how many items of a group are copied so far. */
  onCopied: OnCopied,
): AsyncGenerator<Compared> {
  if (await isMoved(from, to)) return;
  await to.setMark({ state: 'copying', from: from.place });
  for (const [source, target] of pairs(from, to)) {
    for (const group of await groupsOf(source, target)) {
      assertHeld(from, to);
      const compared = await moveGroup(source, target, group, onCopied);
      if (!isSame(compared)) {
        throw new Error(
          `${group} (${source.name}) differs after it was copied: ${compared.from.count} and ${compared.to.count} items. Nothing is lost: ${from.place} is unchanged.`,
        );
      }
      yield compared;
    }
  }
  assertHeld(from, to);
  // In this order: killed in between, neither is used, and the next run ends it.
  await from.setMark({ state: 'moved', to: to.place, atMs: Date.now() });
  await to.setMark(undefined);
}

async function moveGroup(
  source: StatePart,
  target: StatePart,
  group: string,
  onCopied: OnCopied,
): Promise<Compared> {
  const part = source.name;
  const there = await digestOf(target.read(group));
  if (there.count > 0) {
    const compared = { part, group, from: await digestOf(source.read(group)), to: there };
    if (isSame(compared)) return compared;
  }
  const copied = createDigest();
  await target.replace(
    group,
    passing(source.read(group), (text) => {
      onCopied({ part, group, count: copied.add(text) });
    }),
  );
  return { part, group, from: copied.get(), to: await digestOf(target.read(group)) };
}

async function* passing(items: AsyncIterable<string>, pass: (text: string) => void) {
  for await (const text of items) {
    pass(text);
    yield text;
  }
}

/**
 * Whether all was moved by an earlier run. Throws unless there is something to move, and nothing where it is to go but a copy
 * of it.
 */
async function isMoved(from: RawState, to: RawState): Promise<boolean> {
  const [left, arrived] = [await from.mark(), await to.mark()];
  const isOwnCopy = arrived?.state === 'copying' && arrived.from === from.place;
  if (left?.state === 'copying') {
    throw new StateMovedError(
      `${capitalized(from.place)} holds an unfinished copy of ${left.from}, which cannot be moved. Finish that copy first, or ${from.howToEmpty}.`,
    );
  }
  if (left && left.to !== to.place) {
    throw new StateMovedError(`The state in ${from.place} was already moved to ${left.to}.`);
  }
  // Killed after its last mark, a run has done all that it had to.
  if (left && arrived === undefined && !(await isEmpty(to))) return true;
  if (await isEmpty(from)) throw new StateMovedError(`Nothing to move in ${from.place}.`);
  if (isOwnCopy || (arrived === undefined && (await isEmpty(to)))) return false;
  const what =
    arrived?.state === 'copying'
      ? `holds an unfinished copy of another source, ${arrived.from}`
      : `is not empty${arrived ? `: its state was moved to ${arrived.to}` : ''}`;
  throw new StateMovedError(
    `${capitalized(to.place)} ${what}. Existing state is never overwritten: ${to.howToEmpty}.`,
  );
}

async function isEmpty({ parts }: RawState): Promise<boolean> {
  for (const part of parts) if ((await part.groups()).length > 0) return false;
  return true;
}

function assertHeld(...states: RawState[]): void {
  const lost = states.find((state) => state.lost.aborted);
  if (lost) {
    throw new Error(
      `${capitalized(lost.place)} could not be reached for too long, so others may use it again. Run this once more; it continues where it stopped.`,
    );
  }
}

function pairs(from: RawState, to: RawState): Array<[StatePart, StatePart]> {
  return from.parts.map((source) => {
    const target = to.parts.find(({ name }) => name === source.name);
    if (!target || to.parts.length !== from.parts.length) {
      throw new Error(`${from.place} and ${to.place} do not keep the same kinds of state.`);
    }
    return [source, target];
  });
}

async function groupsOf(source: StatePart, target: StatePart): Promise<string[]> {
  return [...new Set([...(await source.groups()), ...(await target.groups())])].sort();
}

async function digestOf(items: AsyncIterable<string>): Promise<Digest> {
  const digest = createDigest();
  for await (const text of items) digest.add(text);
  return digest.get();
}

function createDigest() {
  let count = 0;
  let sum = 0n;
  return {
    /** Gives how many they are now. */
    add(text: string): number {
      count += 1;
      const hash = createHash('sha256').update(text).digest('hex');
      sum = BigInt.asUintN(SUM_BITS, sum + BigInt(`0x${hash}`));
      return count;
    },
    get: (): Digest =>
      count === 0 ? EMPTY : { count, sum: sum.toString(16).padStart(SUM_BITS / 4, '0') },
  };
}
