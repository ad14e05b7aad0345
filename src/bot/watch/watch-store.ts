import { z } from 'zod';
import { maskedTarget } from '../../contracts/secret-values.ts';
import type { StateBuilder, StateDeclaration, StateItem } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import {
  Alert,
  Closed,
  Down,
  Group,
  groupBy,
  HeldBack,
  KnownMonitor,
  mapChanged,
  Reported,
  Watching,
  type WatchState,
} from '../incidents/watch-state.ts';

/** Opens what the watch knows; throws `CorruptDocumentError` when it is there and cannot be trusted. */
export const openWatchState = (store: Store): Promise<WatchState> => store.state(WATCHING);

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
  z.object({ step: z.literal('reported'), reported: Reported }),
  z.object({ step: z.literal('reported-gone'), id: z.string() }),
  z.object({ step: z.literal('held'), held: HeldBack }),
  z.object({ step: z.literal('held-gone'), id: z.string() }),
]);
type Step = z.infer<typeof Step>;

/** What may be long, and is stored step by step. */
type Lists = Pick<Watching, 'known' | 'alerts' | 'downs' | 'closed' | 'reported' | 'held'>;

/** All that the watch knows but for the lists. */
const Rest = Watching.omit({
  known: true,
  alerts: true,
  downs: true,
  closed: true,
  reported: true,
  held: true,
});
type Rest = z.infer<typeof Rest>;

const NOTHING: Lists = { known: [], alerts: [] };

/** What the watch knows, as it is stored. */
export const WATCHING: StateDeclaration<Watching, Step, Rest> = {
  name: 'watching',
  step: Step,
  rest: Rest,
  restOf: ({ known: _k, alerts: _a, downs: _d, closed: _c, reported: _r, held: _h, ...rest }) =>
    rest,
  stepsBetween: (before, after) => stepsBetween(before ?? NOTHING, after),
  begin: beginWith,
  itemOf,
  freeze: withFrozenLists,
  upgrade: withoutSecrets,
};

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
  Object.freeze(watching.reported);
  Object.freeze(watching.held);
  return Object.freeze(watching);
}

/** The same where no target holds a secret. */
function withoutSecrets(watching: Watching): Watching {
  const alerts = mapChanged(watching.alerts, (alert) => {
    const target = alert.kind === 'incident' ? maskedTarget(alert.target) : '';
    return alert.kind !== 'incident' || target === alert.target ? alert : { ...alert, target };
  });
  return alerts === watching.alerts ? watching : { ...watching, alerts };
}

type Keyed<T> = ReturnType<typeof keyed<T>>;

/** A list whose items have keys, in an order as that of a `Map`; one that no step is about costs nothing. */
function keyed<T>(before: readonly T[], keyOf: (item: T) => string) {
  let map: Map<string, T> | undefined;
  function opened() {
    map ??= new Map(before.map((item) => [keyOf(item), item]));
    return map;
  }
  return {
    get: (key: string) => opened().get(key),
    set: (item: T) => void opened().set(keyOf(item), item),
    delete: (key: string) => void opened().delete(key),
    list: (): T[] => [...(map?.values() ?? before)],
  };
}

/** Goes step by step from one state to another. */
function beginWith(before: Lists = NOTHING): StateBuilder<Watching, Step, Rest> {
  const known = keyed(before.known, ({ id }) => id);
  const alerts = keyed<Alert>(before.alerts, ({ id }) => id);
  /** Of the groups that steps are about. */
  const members = new Map<string, Keyed<Member>>();
  const downs = keyed(byMonitor(before.downs), ([id]) => id);
  const closed = keyed(before.closed ?? [], ({ place }) => place);
  const reported = keyed(before.reported ?? [], ({ id }) => id);
  const held = keyed(before.held ?? [], ({ monitor }) => monitor.id);

  function membersOf(id: string): Keyed<Member> | undefined {
    const group = alerts.get(id);
    if (group?.kind !== 'group') return undefined;
    const own = members.get(id) ?? keyed(group.members, ({ monitorId }) => monitorId);
    members.set(id, own);
    return own;
  }

  return {
    apply(step) {
      if (step.step === 'known') known.set(step.known);
      else if (step.step === 'known-gone') known.delete(step.id);
      else if (step.step === 'member') membersOf(step.group)?.set(step.member);
      else if (step.step === 'member-gone') membersOf(step.group)?.delete(step.id);
      else if (step.step === 'downs') downs.set([step.id, step.downs]);
      else if (step.step === 'downs-gone') downs.delete(step.id);
      else if (step.step === 'closed') closed.set(step.closed);
      else if (step.step === 'closed-gone') closed.delete(step.id);
      else if (step.step === 'reported') reported.set(step.reported);
      else if (step.step === 'reported-gone') reported.delete(step.id);
      else if (step.step === 'held') held.set(step.held);
      else if (step.step === 'held-gone') held.delete(step.id);
      else if (step.step === 'topic-gone') {
        alerts.delete(step.id);
        members.delete(step.id);
      } else {
        const { topic: alert } = step;
        // A group that takes the place of itself has the members that it had.
        if (alert.kind !== 'group' || !membersOf(alert.id)) members.delete(alert.id);
        alerts.set(alert);
      }
    },
    end(rest) {
      const [downsNow, closedNow] = [downs.list(), closed.list()];
      const [reportedNow, heldNow] = [reported.list(), held.list()];
      return {
        known: known.list(),
        alerts: alerts.list().map((alert) => {
          const own = alert.kind === 'group' ? members.get(alert.id) : undefined;
          return own ? { ...alert, members: own.list() } : alert;
        }),
        ...(downsNow.length > 0 && { downs: downsNow.flatMap(([, own]) => own) }),
        ...(closedNow.length > 0 && { closed: closedNow }),
        ...(reportedNow.length > 0 && { reported: reportedNow }),
        ...(heldNow.length > 0 && { held: heldNow }),
        ...rest,
      };
    },
  };
}

function itemOf(step: Step): StateItem<Step> {
  switch (step.step) {
    case 'known':
      return {
        ...item('known', step.known.id),
        removal: { step: 'known-gone', id: step.known.id },
      };
    case 'topic':
      return {
        ...item('topic', step.topic.id),
        removal: { step: 'topic-gone', id: step.topic.id },
      };
    case 'member': {
      const { group, member } = step;
      const removal: Step = { step: 'member-gone', group, id: member.monitorId };
      return { ...itemOf(removal), removal };
    }
    case 'member-gone':
      return { ...item('member', step.group, step.id), inside: item('topic', step.group).key };
    case 'downs':
      return { ...item('downs', step.id), removal: { step: 'downs-gone', id: step.id } };
    case 'closed':
      return {
        ...item('closed', step.closed.place),
        removal: { step: 'closed-gone', id: step.closed.place },
      };
    case 'reported':
      return {
        ...item('reported', step.reported.id),
        removal: { step: 'reported-gone', id: step.reported.id },
      };
    case 'held': {
      const { id } = step.held.monitor;
      return { ...item('held', id), removal: { step: 'held-gone', id } };
    }
    default:
      return item(step.step.slice(0, -'-gone'.length), step.id);
  }
}

const item = (...names: string[]) => ({ key: JSON.stringify(names) });

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
    const isGroup = item.kind === 'group';
    yield { step: 'topic', topic: isGroup ? { ...item, members: [] } : item };
    const members = isGroup ? item.members : [];
    yield* memberSteps(item.id, old?.kind === 'group' ? old.members : [], members);
  }
  if (before.downs !== after.downs) yield* downSteps(before.downs, after.downs);

  const closed = changesBetween(before.closed ?? [], after.closed ?? [], ({ place }) => place);
  for (const id of closed.gone) yield { step: 'closed-gone', id };
  for (const { item } of closed.come) yield { step: 'closed', closed: item };

  const reported = changesBetween(before.reported ?? [], after.reported ?? [], ({ id }) => id);
  for (const id of reported.gone) yield { step: 'reported-gone', id };
  for (const { item } of reported.come) yield { step: 'reported', reported: item };

  const held = changesBetween(before.held ?? [], after.held ?? [], ({ monitor }) => monitor.id);
  for (const id of held.gone) yield { step: 'held-gone', id };
  for (const { item } of held.come) yield { step: 'held', held: item };
}

function* memberSteps(
  group: string,
  before: readonly Member[],
  members: readonly Member[],
): Generator<Step> {
  const { gone, come } = changesBetween(before, members, ({ monitorId }) => monitorId);
  for (const id of gone) yield { step: 'member-gone', group, id };
  for (const { item } of come) yield { step: 'member', group, member: item };
}

type Downs = readonly [id: string, downs: Down[]];

/** Those of one monitor stand together. */
const byMonitor = (downs: Lists['downs'] = []): Downs[] => [
  ...groupBy(downs, ({ monitorId }) => monitorId),
];

function* downSteps(before: Lists['downs'], after: Lists['downs']): Generator<Step> {
  const isSame = ([, a]: Downs, [, b]: Downs) =>
    a.length === b.length && a.every((down, at) => down === b[at]);
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
