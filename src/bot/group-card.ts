import type { Card, CardAction, Fact } from './card.ts';
import { lasted, lateWords } from './incident-times.ts';
import { isDown } from './status.ts';
import type { Delivery, Group } from './watch-state.ts';
import { counted, shortened } from './words.ts';

/** Members that are named; the others are counted. */
const NAMED = 20;

/** What a place is to see of outages that began together. Pure. */
export function groupCard(group: Group, { shownOpen }: Pick<Delivery, 'shownOpen'>): Card {
  const { members } = group;
  const down = members.filter(({ endedAtMs }) => endedAtMs === undefined);
  const over = members.filter(({ endedAtMs }) => endedAtMs !== undefined);
  const inOrder = [...down, ...over];
  const more = inOrder.length - NAMED;
  const stillDown = down.length - NAMED;
  const late = lateWords(members);
  return {
    tone: down.length > 0 ? 'bad' : members.every(({ gone }) => gone) ? 'info' : 'good',
    title: titleOf(group, down.length, shownOpen ?? false),
    parts: [
      { kind: 'facts', facts: inOrder.slice(0, NAMED).map(factOf) },
      ...(more > 0
        ? [
            {
              kind: 'text' as const,
              text: `… and ${more} more${stillDown > 0 && stillDown < more ? `, of which ${stillDown} are down` : ''}. /monitor list shows all.`,
            },
          ]
        : []),
      ...(late ? [{ kind: 'text' as const, text: late }] : []),
    ],
    footer: `Incident ${group.id.slice(0, 8)}`,
    actions: actionsOf(group),
  };
}

function titleOf({ members }: Group, open: number, shownOpen: boolean): string {
  const [only, ...others] = members;
  const count = members.length;
  const gone = members.filter((member) => member.gone).length;
  if (only && others.length === 0) {
    const name = shortened(only.name, 100);
    if (open > 0) return `${name} is ${shortened(only.status, 40)}`;
    // What is no longer watched has not recovered as far as anyone knows.
    if (gone > 0) return `${name} is no longer watched`;
    return shownOpen ? `${name} recovered` : `${name} was down`;
  }
  const down = members.filter((member) => member.endedAtMs === undefined && isDown(member)).length;
  if (down === count) return `${count} monitors are DOWN`;
  if (open > 0) {
    return down > 0
      ? `${down} of ${count} monitors are DOWN`
      : `${open} of ${count} monitors are not UP`;
  }
  if (gone === count) return `${count} monitors are no longer watched`;
  const back = `${counted(count - gone, 'monitor')} ${shownOpen ? 'recovered' : `${count - gone === 1 ? 'was' : 'were'} down`}`;
  return gone === 0 ? back : `${back}, ${gone} no longer watched`;
}

function factOf(member: Group['members'][number]): Fact {
  const { name, status, endedAtMs, reason, gone, times, acknowledged } = member;
  const words = gone
    ? ['no longer watched']
    : [
        endedAtMs === undefined
          ? `${shortened(status, 40)}${reason ? `: ${shortened(reason, 200)}` : ''}`
          : `was down for ${lasted(member)}`,
        ...(times > 1 ? [`down ${counted(times, 'time')}`] : []),
        ...(acknowledged ? [`acknowledged by ${acknowledged}`] : []),
      ];
  return { label: shortened(name, 100), value: words.join(', ') };
}

function actionsOf({ id, members }: Group): CardAction[] {
  const values = { incident: id };
  const open = members.filter(({ endedAtMs }) => endedAtMs === undefined);
  if (open.length === 0) return [{ label: 'Summarise', command: 'incident summary', values }];
  const isFree = open.some(({ acknowledged }) => acknowledged === undefined);
  return [
    ...(isFree ? [{ label: 'Acknowledge', command: 'incident acknowledge', values }] : []),
    { label: 'Snooze 1 h', command: 'incident snooze', values },
    { label: 'Ask why', command: 'incident why', values },
  ];
}
