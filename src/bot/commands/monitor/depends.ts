import { z } from 'zod';
import { ALERT_PARENT, MAX_PARENTS, type Monitor } from '../../../contracts/monitoring.ts';
import { textCard } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryoneBy } from '../../shared/invocation.ts';
import { mayManage } from '../../shared/rights.ts';
import { shortened } from '../../shared/text-format.ts';
import { findMonitor, offered } from '../../tools/monitors.ts';
import { command, optionalText, requiredText } from '../command.ts';

const input = z.object({
  monitor: requiredText(2048, 'Its name, a part of its name or target, or its id'),
  on: optionalText(
    2048,
    'Monitors it depends on, comma-separated; “nothing” clears them; if omitted, shows them',
  ),
});

export const monitorDepends = command({
  name: 'monitor depends',
  summary: 'Set what a monitor depends on: while that is down, its own alerts are held back',
  group: 'alert',
  right: {
    ...mayManage('change dependencies'),
    when: ({ on }) => on !== undefined,
  },
  input,
  examples: [
    '/monitor depends shop on database',
    '/monitor depends shop on="Main database, gateway"',
    '/monitor depends shop on nothing',
    '/monitor depends shop',
  ],
  async run({ monitor: meant, on }, call) {
    const all = await call.monitoring.list();
    const monitor = findMonitor(all, meant);
    if (on === undefined) return toAsker(dependsCard('info', monitor, all));
    const changed = await offered(
      'changing monitors',
      call.monitoring.change(monitor.id, { depends_on: parentsIn(on, all) }),
    );
    return toEveryoneBy(call.person, dependsCard('good', changed, all));
  },
});

/** Ids of the monitors in a text such as `on database, gateway`. */
function parentsIn(text: string, all: readonly Monitor[]): string[] {
  const named = text.replace(/^on\s+/i, '').trim();
  if (/^(nothing|off)$/i.test(named)) return [];
  const parents = named
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map((one) => (one.startsWith(ALERT_PARENT) ? one : findMonitor(all, one).id));
  if (parents.length === 0) {
    throw new CommandError('Name what it depends on: /monitor depends shop on database');
  }
  if (parents.length <= MAX_PARENTS) return parents;
  throw new CommandError(`A monitor can depend on at most ${MAX_PARENTS} others.`);
}

/** Names of the monitors that a monitor depends on: `Database, Gateway`. Pure. */
export const parentNames = ({ depends_on: parents = [] }: Monitor, all: readonly Monitor[]) =>
  parents
    .slice(0, MAX_PARENTS)
    .map((id) => shortened(all.find((monitor) => monitor.id === id)?.name ?? id, 100))
    .join(', ');

function dependsCard(tone: 'good' | 'info', monitor: Monitor, all: readonly Monitor[]) {
  const name = shortened(monitor.name, 100);
  const names = parentNames(monitor, all);
  if (names === '')
    return textCard(tone, `${name} has no dependencies`, 'All its alerts are sent.');
  const parent = (monitor.depends_on?.length ?? 0) > 1 ? 'one of these' : names;
  return textCard(
    tone,
    `${name} depends on ${names}`,
    `While ${parent} is down, alerts for ${name} are held back. If ${name} is still down afterwards, you get the alert then.`,
  );
}
