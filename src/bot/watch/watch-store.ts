import { z } from 'zod';
import type { Keyed, KeyedDeclaration, Store } from '../../store/store.ts';
import {
  Alert,
  Closed,
  Down,
  Group,
  type GroupMember,
  groupBy,
  HeldBack,
  KnownMonitor,
  Reported,
  Watching,
  type WatchState,
} from '../incidents/watch-state.ts';

const StoredGroupMember = Group.shape.members.element;

/** Everything but the lists. It is small and stored with every change of it. */
const Rest = Watching.omit({
  known: true,
  alerts: true,
  downs: true,
  closed: true,
  reported: true,
  held: true,
});

/** An item of a list. Lists are read in the order of their items' places. */
const listed = <Name extends string, Item>(list: Name, item: z.ZodType<Item>) =>
  z.object({ list: z.literal(list), place: z.int(), item });

const StoredItem = z.discriminatedUnion('list', [
  z.object({ list: z.literal('rest'), item: Rest }),
  listed('known', KnownMonitor),
  // Groups are stored without their members, because a group may have ten thousand of them.
  listed('alerts', Alert),
  listed('members', StoredGroupMember).extend({ group: z.string() }),
  // The ones of one monitor.
  listed('downs', z.array(Down)),
  listed('closed', Closed),
  listed('reported', Reported),
  listed('held', HeldBack),
]);
type StoredItem = z.infer<typeof StoredItem>;
type ListItem = Exclude<StoredItem, { list: 'rest' }>;

export const WATCHING: KeyedDeclaration<StoredItem> = {
  name: 'watching',
  schema: StoredItem,
  whenCorrupt: 'refuse',
};

const REST = 'rest';
const keyIn = (list: string, ...ids: string[]) => JSON.stringify([list, ...ids]);

interface PendingUpdate {
  erases: boolean;
  change: (current: Watching | undefined) => Watching | undefined;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Opens what the watch knows; throws `CorruptDocumentError` if it can't be read. */
export async function openWatchState(store: Pick<Store, 'keyed'>): Promise<WatchState> {
  const watchStore = new WatchStore(await store.keyed(WATCHING));
  return {
    current: () => watchStore.current,
    update: (change) => watchStore.enqueue(change, { erases: false }),
    erase: (change) => watchStore.enqueue(change, { erases: true }),
  };
}

class WatchStore {
  current: Watching | undefined;
  private readonly keyed: Keyed<StoredItem>;
  private pending: PendingUpdate[] = [];
  private isWriting = false;

  constructor(keyed: Keyed<StoredItem>) {
    this.keyed = keyed;
    this.current = watchingFrom(keyed.items());
  }

  enqueue(change: PendingUpdate['change'], { erases }: { erases: boolean }): Promise<void> {
    return new Promise((resolve, reject) => {
      this.pending.push({ erases, change, resolve, reject });
      if (!this.isWriting) void this.writePending();
    });
  }

  /** Updates that come together share one write. */
  private async writePending(): Promise<void> {
    this.isWriting = true;
    await Promise.resolve();
    while (this.pending.length > 0) {
      const updates = this.pending;
      this.pending = [];
      await this.writeTogether(updates);
    }
    this.isWriting = false;
  }

  private async writeTogether(updates: readonly PendingUpdate[]): Promise<void> {
    const before = this.current;
    const { next, made } = applyUpdates(before, updates);
    try {
      if (next !== undefined && next !== before) {
        const changes = changesBetween(before, next, this.keyed.items());
        const erases = made.some(({ update }) => update.erases);
        await (erases ? this.keyed.erase(changes) : this.keyed.write(changes));
      }
      this.current = next;
      for (const { update } of made) update.resolve();
    } catch (error) {
      for (const { update, result } of made) {
        // An update that changed nothing is true even if the others couldn't be stored.
        if (result === before) update.resolve();
        else update.reject(error);
      }
    }
  }
}

/** Each update gets the result of the one before. An update that throws is rejected on its own. */
function applyUpdates(before: Watching | undefined, updates: readonly PendingUpdate[]) {
  let next = before;
  const made: Array<{ update: PendingUpdate; result: Watching | undefined }> = [];
  for (const update of updates) {
    try {
      const wanted = update.change(next);
      if (wanted === undefined && next !== undefined) {
        throw new Error('A state can be changed, not removed.');
      }
      next = wanted;
      made.push({ update, result: next });
    } catch (error) {
      update.reject(error);
    }
  }
  return { next, made };
}

function watchingFrom(items: ReadonlyMap<string, StoredItem>): Watching | undefined {
  const rest = items.get(REST);
  if (rest?.list !== 'rest') return undefined;
  const inOrder = [...items.values()]
    .filter((one) => one.list !== 'rest')
    .sort((a, b) => a.place - b.place);
  const list = <Name extends ListItem['list']>(name: Name) =>
    inOrder.filter((one): one is Extract<ListItem, { list: Name }> => one.list === name);
  const members = groupBy(list('members'), ({ group }) => group);
  const orNone = <T>(all: T[]) => (all.length > 0 ? all : undefined);
  return {
    ...rest.item,
    known: list('known').map(({ item }) => item),
    alerts: list('alerts').map(({ item }) =>
      item.kind === 'group'
        ? { ...item, members: (members.get(item.id) ?? []).map((one) => one.item) }
        : item,
    ),
    downs: orNone(list('downs').flatMap(({ item }) => item)),
    closed: orNone(list('closed').map(({ item }) => item)),
    reported: orNone(list('reported').map(({ item }) => item)),
    held: orNone(list('held').map(({ item }) => item)),
  };
}

/** Items that differ between two states. The same object in both is the same item. */
function changesBetween(
  before: Partial<Watching> | undefined,
  after: Watching,
  stored: ReadonlyMap<string, StoredItem>,
): Map<string, StoredItem | undefined> {
  const changes = new ItemChanges(stored);
  changes.addList('known', before?.known, after.known, ({ id }) => id);
  changes.addAlerts(before?.alerts ?? [], after.alerts);
  changes.addDowns(before?.downs, after.downs);
  changes.addList('closed', before?.closed, after.closed, ({ place }) => place);
  changes.addList('reported', before?.reported, after.reported, ({ id }) => id);
  changes.addList('held', before?.held, after.held, ({ monitor }) => monitor.id);
  const { known: _k, alerts: _a, downs: _d, closed: _c, reported: _r, held: _h, ...item } = after;
  changes.all.set(REST, { list: 'rest', item });
  return changes.all;
}

type ListName = 'known' | 'closed' | 'reported' | 'held';
type ItemOf<Name extends ListName> = NonNullable<Watching[Name]>[number];

class ItemChanges {
  readonly all = new Map<string, StoredItem | undefined>();
  private readonly stored: ReadonlyMap<string, StoredItem>;
  private lastPlace: number | undefined;

  constructor(stored: ReadonlyMap<string, StoredItem>) {
    this.stored = stored;
  }

  addList<Name extends ListName>(
    list: Name,
    before: readonly ItemOf<Name>[] = [],
    after: readonly ItemOf<Name>[] = [],
    idOf: (item: ItemOf<Name>) => string,
  ): void {
    this.addItems({ list, idOf }, before, after);
  }

  addAlerts(before: readonly Alert[], after: readonly Alert[]): void {
    if (before === after) return;
    const idOf = ({ id }: Alert) => id;
    const toItem = (alert: Alert) => (alert.kind === 'group' ? { ...alert, members: [] } : alert);
    this.addItems({ list: 'alerts', idOf, toItem }, before, after);
    const old = new Map(before.map((alert) => [alert.id, alert]));
    for (const alert of after) {
      const was = old.get(alert.id);
      old.delete(alert.id);
      if (alert !== was) this.addMembers(alert.id, membersOf(was), membersOf(alert));
    }
    for (const [id, alert] of old) this.addMembers(id, membersOf(alert), []);
  }

  addDowns(before: readonly Down[] = [], after: readonly Down[] = []): void {
    if (before === after) return;
    const byMonitor = (downs: readonly Down[]): Down[][] => [
      ...groupBy(downs, ({ monitorId }) => monitorId).values(),
    ];
    const idOf = ([down]: Down[]) => down?.monitorId ?? '';
    const isSame = (a: Down[], b: Down[]) =>
      a.length === b.length && a.every((down, at) => down === b[at]);
    this.addItems({ list: 'downs', idOf, isSame }, byMonitor(before), byMonitor(after));
  }

  private addMembers(
    group: string,
    before: readonly GroupMember[],
    after: readonly GroupMember[],
  ): void {
    const idOf = ({ monitorId }: GroupMember) => monitorId;
    this.addItems({ list: 'members', group, idOf }, before, after);
  }

  private addItems<T>(
    kind: {
      list: ListItem['list'];
      group?: string;
      idOf: (item: T) => string;
      toItem?: (item: T) => unknown;
      isSame?: (a: T, b: T) => boolean;
    },
    before: readonly T[],
    after: readonly T[],
  ): void {
    if (before === after) return;
    const { list, group, idOf, toItem = (item) => item, isSame = Object.is } = kind;
    const keyOf = (item: T) => keyIn(list, ...(group === undefined ? [] : [group]), idOf(item));
    const add = (key: string, place: number, item: T) =>
      this.all.set(key, { list, group, place, item: toItem(item) } as StoredItem);
    // Mostly all items stay where they are. Making the keys of twenty thousand would block for 50 ms.
    const kept = countKept(before, after, idOf);
    let lastPlace = -1;
    for (const [at, item] of after.slice(0, kept).entries()) {
      const isChanged = !isSame(before[at] as T, item);
      if (!isChanged && at < kept - 1) continue;
      lastPlace = this.placeOf(keyOf(item)) ?? this.newPlace();
      if (isChanged) add(keyOf(item), lastPlace, item);
    }
    const old = new Map(before.slice(kept).map((item) => [keyOf(item), item]));
    for (const item of after.slice(kept)) {
      const key = keyOf(item);
      const was = old.get(key);
      old.delete(key);
      const storedPlace = was === undefined ? undefined : this.placeOf(key);
      // An item that moved forward gets a new place at the end, and so does everything after it.
      const isInPlace = storedPlace !== undefined && storedPlace > lastPlace;
      lastPlace = isInPlace ? storedPlace : this.newPlace();
      if (!isInPlace || was === undefined || !isSame(was, item)) add(key, lastPlace, item);
    }
    for (const key of old.keys()) this.all.set(key, undefined);
  }

  private placeOf(key: string): number | undefined {
    const stored = this.stored.get(key);
    return stored && 'place' in stored ? stored.place : undefined;
  }

  private newPlace(): number {
    if (this.lastPlace === undefined) {
      this.lastPlace = -1;
      for (const one of this.stored.values()) {
        if ('place' in one) this.lastPlace = Math.max(this.lastPlace, one.place);
      }
    }
    this.lastPlace += 1;
    return this.lastPlace;
  }
}

/** The number of first items that are the same things in both lists. */
function countKept<T>(before: readonly T[], after: readonly T[], idOf: (item: T) => string) {
  const moved = after.findIndex((item, at) => {
    const was = before[at];
    return was === undefined || idOf(was) !== idOf(item);
  });
  return moved === -1 ? after.length : moved;
}

const membersOf = (alert: Alert | undefined) => (alert?.kind === 'group' ? alert.members : []);
