import { z } from 'zod';
import { Alert, Closed, Down, Group, KnownMonitor, Watching } from '../incidents/watch-state.ts';

const Member = Group.shape.members.element;
type Member = z.infer<typeof Member>;

/**
 * One step from what the watch knew to what it knows. A thing that comes takes the place of the one with its id, or is
 * the last of all; groups come without their members, who come one by one, since there may be ten thousand of them.
 */
export const Step = z.discriminatedUnion('step', [
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
export type Step = z.infer<typeof Step>;

/** What may be long, and is stored step by step. */
export type Lists = Pick<Watching, 'known' | 'alerts' | 'downs' | 'closed'>;

/** All that the watch knows but for the lists: little, and stored with every update. */
export const Rest = Watching.omit({ known: true, alerts: true, downs: true, closed: true });
export type Rest = z.infer<typeof Rest>;

export const NOTHING: Lists = { known: [], alerts: [] };

/**
 * What leads from one state to another, in order; what is the same object in both is the same. Pure, and told piece by
 * piece, so that others can have their turn in between.
 */
export function* stepsBetween(before: Lists, after: Lists): Generator<Step> {
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
  const { gone, come } = changesBetween<Downs>(
    [...byMonitor(before)],
    [...byMonitor(after)],
    ([id]) => id,
    isSame,
  );
  for (const id of gone) yield { step: 'downs-gone', id };
  for (const { item } of come) yield { step: 'downs', id: item[0], downs: item[1] };
}

function byMonitor(downs: Lists['downs'] = []): Map<string, Down[]> {
  const all = new Map<string, Down[]>();
  for (const down of downs) {
    const own = all.get(down.monitorId);
    if (own) own.push(down);
    else all.set(down.monitorId, [down]);
  }
  return all;
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

/** Goes step by step from nothing to a state. */
export function createReplay() {
  const known = new Map<string, KnownMonitor>();
  const alerts = new Map<string, { alert: Alert; members: Map<string, Member> }>();
  const downs = new Map<string, Down[]>();
  const closed = new Map<string, Closed>();
  const membersOf = (group: string) => alerts.get(group)?.members;

  return {
    apply(step: Step): void {
      if (step.step === 'known') known.set(step.known.id, step.known);
      else if (step.step === 'known-gone') known.delete(step.id);
      else if (step.step === 'topic-gone') alerts.delete(step.id);
      else if (step.step === 'member')
        membersOf(step.group)?.set(step.member.monitorId, step.member);
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
    },
    result: (): Lists => ({
      known: [...known.values()],
      alerts: [...alerts.values()].map(({ alert, members }) =>
        alert.kind === 'group' ? { ...alert, members: [...members.values()] } : alert,
      ),
      ...(downs.size > 0 && { downs: [...downs.values()].flat() }),
      ...(closed.size > 0 && { closed: [...closed.values()] }),
    }),
  };
}
