import type { Logger } from 'pino';
import { z } from 'zod';
import { beginTurn, yieldToEventLoop } from '../../contracts/event-loop.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import { CorruptDocumentError } from '../../store/errors.ts';
import type { Journal, Store } from '../../store/store.ts';
import {
  Alert,
  Closed,
  Down,
  Group,
  groupBy,
  KnownMonitor,
  mapChanged,
  Watching,
  type WatchState,
} from '../incidents/watch-state.ts';

type Change = Parameters<WatchState['update']>[0];

/** How long what is written may become; tests make it short. */
interface Sizes {
  compactAfterLength?: number;
  partLength?: number;
}

interface Asked {
  erases: boolean;
  change: Change;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Opens what the watch knows; throws `CorruptDocumentError` when it is there and cannot be trusted. */
export async function openWatchState(
  store: Store,
  log: Logger,
  options: Sizes = {},
): Promise<WatchState> {
  const journal = await openJournals(store, log, options);
  let current = journal.last;
  let waiting: Asked[] = [];
  let isWriting = false;

  /** Makes the changes that have come with one write. */
  async function writeTogether(updates: readonly Asked[]) {
    const before = current;
    let next = before;
    let erases = false;
    const made: Array<{ asked: Asked; result: Watching | undefined }> = [];
    for (const asked of updates) {
      try {
        const now = next;
        next = changed(now, asked.change);
        erases ||= asked.erases && next !== now;
        made.push({ asked, result: next });
      } catch (error) {
        asked.reject(error);
      }
    }
    try {
      if (next && next !== before) {
        await (erases ? journal.rewrite(next) : journal.write(before, next));
      }
      current = next;
      for (const { asked } of made) asked.resolve();
    } catch (error) {
      for (const { asked, result } of made) {
        // What left everything as it is on the disk is true, whatever became of the others.
        if (result === before) asked.resolve();
        else asked.reject(error);
      }
    }
  }

  async function writeWaiting() {
    isWriting = true;
    // What comes in the same breath is written together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const updates = waiting;
      waiting = [];
      await writeTogether(updates);
    }
    isWriting = false;
  }

  const enqueue = (erases: boolean) => (change: Change) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ erases, change, resolve, reject });
      if (!isWriting) void writeWaiting();
    });

  return {
    current: () => current,
    update: enqueue(false),
    erase: enqueue(true),
  };
}

function changed(now: Watching | undefined, change: Change): Watching | undefined {
  const wanted = change(now);
  if (wanted === now) return now;
  if (!wanted) throw new Error('What the watch knows can be changed, not removed.');
  return withFrozenLists(wanted, now);
}

/** The lists; what they hold is frozen while it is written, piece by piece. */
function withFrozenLists(watching: Watching, before: Watching | undefined): Watching {
  for (const [at, alert] of watching.alerts.entries()) {
    // Of what stays in its place, nothing is read: there may be ten thousand.
    if (alert !== before?.alerts[at] && alert.kind === 'group') {
      Object.freeze(alert.members);
      Object.freeze(alert);
    }
  }
  Object.freeze(watching.known);
  Object.freeze(watching.alerts);
  Object.freeze(watching.downs);
  Object.freeze(watching.closed);
  return Object.freeze(watching);
}

const Member = Group.shape.members.element;
type Member = z.infer<typeof Member>;

/**
 * One step from what the watch knew to what it knows. A thing that comes takes the place of the one with its id, or is
 * the last of all; groups come without their members, who come one by one, since there may be ten thousand of them.
 */
const Step = z.discriminatedUnion('step', [
  z.object({ step: z.literal('known'), known: KnownMonitor }),
  z.object({ step: z.literal('known-gone'), id: z.string() }),
  z.object({ step: z.literal('topic'), topic: Alert }),
  z.object({ step: z.literal('topic-gone'), id: z.string() }),
  z.object({ step: z.literal('member'), group: z.string(), member: Member }),
  z.object({ step: z.literal('member-gone'), group: z.string(), id: z.string() }),
  z.object({ step: z.literal('downs'), id: z.string(), downs: z.array(Down) }),
  z.object({ step: z.literal('downs-gone'), id: z.string() }),
  z.object({ step: z.literal('closed'), closed: Closed }),
  z.object({ step: z.literal('closed-gone'), id: z.string() }),
]);
type Step = z.infer<typeof Step>;

/** What may be long, and is stored step by step. */
type Lists = Pick<Watching, 'known' | 'alerts' | 'downs' | 'closed'>;

/** All that the watch knows but for the lists: little, and stored with every update. */
const Rest = Watching.omit({ known: true, alerts: true, downs: true, closed: true });
type Rest = z.infer<typeof Rest>;

/** A part of an update of what the watch knows; most updates have one. */
const UpdatePart = z.object({
  atMs: z.int(),
  /** Counts updates, also those that were refused, or killed in the middle. */
  number: z.int().positive(),
  /** The update that this one changes; absent when it starts from nothing. */
  after: z.int().positive().optional(),
  part: z.int().nonnegative(),
  parts: z.int().positive(),
  rest: Rest,
  steps: z.array(Step),
});
type UpdatePart = z.infer<typeof UpdatePart>;

/** Characters of steps in a part: some milliseconds of work, and far below what a record of a journal takes. */
const PART_LENGTH = 64 * 1024;

/** Characters of steps after a whole state until the next one is written, if that was not longer. */
const COMPACT_AFTER_LENGTH = 4 * 1024 * 1024;

/**
 * Opens the journals `watching-a` and `-b`. Updates are appended to one of
 * them, each naming the one that it changes; when it has grown, the next goes to the other one, as a whole state, and the
 * first is cleared. What a kill or a full disk leaves in either is no part of the chain that leads to the last update. Throws
 * `CorruptDocumentError` when that has a gap or a record cannot be read, since all later ones stand on it.
 */
async function openJournals(store: Store, log: Logger, options: Sizes) {
  const { compactAfterLength = COMPACT_AFTER_LENGTH, partLength = PART_LENGTH } = options;
  const [first, second] = ['watching-a', 'watching-b'].map((name) =>
    store.journal({ name, schema: UpdatePart, whenUnreadable: 'refuse' }),
  ) as [Journal<UpdatePart>, Journal<UpdatePart>];
  const { last: stored, tip, length, ...found } = await readChain([first, second]);
  const last = stored && withoutSecrets(stored);
  let { lastNumber } = found;
  /** Updates that lead to the last, or what a kill before it was cleared or a refused write left there, which nobody needs. */
  let inSpare: 'needed' | 'left over' | 'nothing' = found.isInOneJournal ? 'left over' : 'needed';
  let tipNumber = tip?.number;
  let [active, spare] = tip?.journal === second ? [second, first] : [first, second];
  let wholeLength = length.first;
  // What an older version stored of the secrets of targets is gone with the next update, which is written anew.
  let grownLength = last === stored ? length.others : Number.POSITIVE_INFINITY;

  /** Gives the length of what it wrote. */
  async function append(
    journal: Journal<UpdatePart>,
    before: Watching | undefined,
    { known, alerts, downs, closed, ...rest }: Watching,
  ): Promise<number> {
    // What is to be written was made in this turn of the loop.
    await yieldToEventLoop();
    lastNumber += 1;
    const number = lastNumber;
    const after = { known, alerts, downs, closed };
    const { parts, length } = await partsOf(stepsBetween(before ?? NOTHING, after), partLength);
    const appended: Array<Promise<void>> = [];
    for (const [part, steps] of parts.entries()) {
      if (part > 0) await yieldToEventLoop();
      const record: UpdatePart = {
        atMs: Date.now(),
        number,
        part,
        parts: parts.length,
        rest,
        steps,
        ...(before && tipNumber !== undefined && { after: tipNumber }),
      };
      const one = journal.append(record);
      // Awaited when all are written: until then a failure must not count as one that nobody handles.
      one.catch(() => undefined);
      appended.push(one);
    }
    await Promise.allSettled(appended);
    await Promise.all(appended);
    tipNumber = number;
    return length;
  }

  async function rewrite(after: Watching): Promise<void> {
    // Counted anew also when it fails, so that a full disk is not tried with a whole state each time.
    grownLength = 0;
    if (inSpare === 'nothing') inSpare = 'left over';
    wholeLength = await append(spare, undefined, after);
    [active, spare] = [spare, active];
    inSpare = 'left over';
    await clearSpare();
  }

  async function clearSpare(): Promise<void> {
    if (inSpare !== 'left over') return;
    try {
      await spare.clear();
      inSpare = 'nothing';
    } catch (error) {
      log.error({ err: error }, 'an old journal of the watch cannot be removed; tried again later');
    }
  }

  await clearSpare();

  return {
    last: frozen(last),
    /** Resolves once an update is durable, which costs what it changes. One call at a time, each with what the last stored. */
    async write(before: Watching | undefined, after: Watching) {
      if (before && grownLength > Math.max(compactAfterLength, wholeLength)) {
        try {
          return await rewrite(after);
        } catch (error) {
          log.error(
            { err: error },
            'the journal of the watch cannot be made smaller; tried again later',
          );
        }
      }
      grownLength += await append(active, before, after);
      await clearSpare();
    },
    /**
     * Writes all of it anew, to the other journal: then nothing of what was written before is left, or soon, when the disk
     * refuses to remove it.
     */
    rewrite,
  };
}

/** The same where no target holds a secret. */
function withoutSecrets(watching: Watching): Watching {
  const alerts = mapChanged(watching.alerts, (alert) => {
    const target = alert.kind === 'incident' ? maskedTarget(alert.target) : '';
    return alert.kind !== 'incident' || target === alert.target ? alert : { ...alert, target };
  });
  return alerts === watching.alerts ? watching : { ...watching, alerts };
}

/** Who alters what is stored gets a TypeError, instead of a change that is lost or half stored. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}

/** Steps in parts of a bearable length, one at least. */
async function partsOf(steps: Iterable<Step>, maxLength: number) {
  let part: Step[] = [];
  const parts = [part];
  let ownLength = 0;
  let length = 0;
  const turn = beginTurn();
  for (const step of steps) {
    if (turn.isOver()) await turn.next();
    const own = lengthOf(step);
    length += own;
    if (part.length > 0 && ownLength + own > maxLength) {
      part = [];
      parts.push(part);
      ownLength = 0;
    }
    part.push(frozen(step));
    ownLength += own;
  }
  return { parts, length };
}

type Update = ReturnType<typeof newUpdate>;

/** An update of which no part was read yet; `length` is that of its steps in characters. */
const newUpdate = (journal: Journal<UpdatePart>, { number, after }: UpdatePart) => ({
  number,
  after,
  journal,
  isWhole: false,
  length: 0,
  parts: new Map<number, UpdatePart>(),
});

/**
 * Reads the last state: the updates from one that starts from nothing to the last, each naming the one before. Updates that
 * are not whole, or that no later one stands on, were never acknowledged. Throws `CorruptDocumentError` where one is missing.
 */
async function readChain(journals: readonly Journal<UpdatePart>[]) {
  const updates = await readUpdates(journals);
  const inOrder = [...updates.values()].sort((a, b) => a.number - b.number);
  const tip = inOrder.findLast(({ isWhole }) => isWhole);
  // The first of all updates starts from nothing: where none is whole, it was killed or refused.
  const orphan = tip ? undefined : inOrder.find(({ after }) => after !== undefined);
  if (orphan) throw gapBefore(orphan);
  const chain = tip ? chainTo(tip, updates) : [];
  const [first, ...others] = chain;
  return {
    last: tip && stateAfter(chain),
    /** The update that made it. */
    tip,
    /** The highest number in use. */
    lastNumber: inOrder.at(-1)?.number ?? 0,
    /** Characters of the steps that lead to it, of the first update of the chain and of the others. */
    length: { first: first?.length ?? 0, others: others.reduce((sum, one) => sum + one.length, 0) },
    /** All updates that lead to it are in its journal, where there are any. */
    isInOneJournal: tip !== undefined && chain.every(({ journal }) => journal === tip.journal),
  };
}

async function readUpdates(journals: readonly Journal<UpdatePart>[]) {
  const updates = new Map<number, Update>();
  for (const journal of journals) {
    for await (const part of journal.read()) {
      const update = updates.get(part.number) ?? newUpdate(journal, part);
      updates.set(part.number, update);
      update.parts.set(part.part, part);
      update.isWhole = update.parts.size === part.parts;
      update.length += lengthOf(part.steps);
    }
  }
  return updates;
}

/** Oldest first. */
function chainTo(tip: Update, updates: ReadonlyMap<number, Update>): Update[] {
  const chain = [tip];
  for (let update = tip; update.after !== undefined; ) {
    const before = updates.get(update.after);
    if (!before?.isWhole || before.number >= update.number) throw gapBefore(update);
    chain.push(before);
    update = before;
  }
  return chain.reverse();
}

/** Goes step by step from nothing to a state. */
function stateAfter(chain: readonly Update[]): Watching {
  const known = new Map<string, KnownMonitor>();
  const alerts = new Map<string, { alert: Alert; members: Map<string, Member> }>();
  const downs = new Map<string, Down[]>();
  const closed = new Map<string, Closed>();
  const membersOf = (group: string) => alerts.get(group)?.members;

  function apply(step: Step): void {
    if (step.step === 'known') known.set(step.known.id, step.known);
    else if (step.step === 'known-gone') known.delete(step.id);
    else if (step.step === 'topic-gone') alerts.delete(step.id);
    else if (step.step === 'member') membersOf(step.group)?.set(step.member.monitorId, step.member);
    else if (step.step === 'member-gone') membersOf(step.group)?.delete(step.id);
    else if (step.step === 'downs') downs.set(step.id, step.downs);
    else if (step.step === 'downs-gone') downs.delete(step.id);
    else if (step.step === 'closed') closed.set(step.closed.place, step.closed);
    else if (step.step === 'closed-gone') closed.delete(step.id);
    else {
      const { topic: alert } = step;
      const members = alert.kind === 'group' ? membersOf(alert.id) : undefined;
      alerts.set(alert.id, { alert, members: members ?? new Map() });
    }
  }

  let last: Rest = { learnt: false, shortLooks: 0 };
  for (const { parts } of chain) {
    for (const [, { steps, rest }] of [...parts].sort(([a], [b]) => a - b)) {
      steps.forEach(apply);
      last = rest;
    }
  }
  return {
    known: [...known.values()],
    alerts: [...alerts.values()].map(({ alert, members }) =>
      alert.kind === 'group' ? { ...alert, members: [...members.values()] } : alert,
    ),
    ...(downs.size > 0 && { downs: [...downs.values()].flat() }),
    ...(closed.size > 0 && { closed: [...closed.values()] }),
    ...last,
  };
}

/** Characters of steps as they are stored. */
const lengthOf = (steps: Step | readonly Step[]) => JSON.stringify(steps).length;

function gapBefore({ number, after }: Update): CorruptDocumentError {
  return new CorruptDocumentError(
    `What is stored of the watch has a gap: update ${number} changes update ${after}, which is missing. Restore the folders watching-a and watching-b of the data folder from a backup, or remove both to start without what they held.`,
  );
}

const NOTHING: Lists = { known: [], alerts: [] };

/**
 * What leads from one state to another, in order; what is the same object in both is the same. Pure, and told piece by
 * piece, so that others can have their turn in between.
 */
function* stepsBetween(before: Lists, after: Lists): Generator<Step> {
  const known = changesBetween(before.known, after.known, ({ id }) => id);
  for (const id of known.gone) yield { step: 'known-gone', id };
  for (const { item } of known.come) yield { step: 'known', known: item };

  const alerts = changesBetween(before.alerts, after.alerts, ({ id }) => id);
  for (const id of alerts.gone) yield { step: 'topic-gone', id };
  for (const { item, old } of alerts.come) {
    if (item.kind !== 'group') {
      yield { step: 'topic', topic: item };
      continue;
    }
    yield { step: 'topic', topic: { ...item, members: [] } };
    yield* memberSteps(item, old?.kind === 'group' ? old.members : []);
  }
  if (before.downs !== after.downs) yield* downSteps(before.downs, after.downs);

  const closed = changesBetween(before.closed ?? [], after.closed ?? [], ({ place }) => place);
  for (const id of closed.gone) yield { step: 'closed-gone', id };
  for (const { item } of closed.come) yield { step: 'closed', closed: item };
}

function* memberSteps({ id: group, members }: Group, before: readonly Member[]): Generator<Step> {
  const { gone, come } = changesBetween(before, members, ({ monitorId }) => monitorId);
  for (const id of gone) yield { step: 'member-gone', group, id };
  for (const { item } of come) yield { step: 'member', group, member: item };
}

type Downs = readonly [id: string, downs: Down[]];

/** Those of one monitor stand together. */
function* downSteps(before: Lists['downs'], after: Lists['downs']): Generator<Step> {
  const isSame = ([, a]: Downs, [, b]: Downs) =>
    a.length === b.length && a.every((down, at) => down === b[at]);
  const byMonitor = (downs: Lists['downs'] = []) => [
    ...groupBy(downs, ({ monitorId }) => monitorId),
  ];
  const [old, now] = [byMonitor(before), byMonitor(after)];
  const { gone, come } = changesBetween<Downs>(old, now, ([id]) => id, isSame);
  for (const id of gone) yield { step: 'downs-gone', id };
  for (const { item } of come) yield { step: 'downs', id: item[0], downs: item[1] };
}

/** What goes from a list and what comes, in the manner of a `Map`; `old` is what something comes in the place of. */
function changesBetween<T>(
  before: readonly T[],
  after: readonly T[],
  idOf: (item: T) => string,
  isSame: (a: T, b: T) => boolean = Object.is,
): { gone: Iterable<string>; come: Array<{ item: T; old?: T }> } {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  const rest = new Map(before.slice(same).map((item, at) => [idOf(item), { item, at }]));
  const come: Array<{ item: T; old?: T }> = [];
  let lastAt = -1;
  let isAtEnd = false;
  for (const item of after.slice(same)) {
    const id = idOf(item);
    const old = rest.get(id);
    // Behind one that comes at the end there is no place to keep: what was there before goes, and comes again.
    if (isAtEnd || !old || old.at < lastAt) {
      isAtEnd = true;
      come.push({ item });
      continue;
    }
    lastAt = old.at;
    rest.delete(id);
    if (!isSame(old.item, item)) come.push({ item, old: old.item });
  }
  return { gone: rest.keys(), come };
}
