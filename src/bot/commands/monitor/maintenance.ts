import { z } from 'zod';
import type { Monitor } from '../../../contracts/monitoring.ts';
import { TypedTags } from '../../../contracts/monitoring.ts';
import {
  MAX_PLANNED,
  MAX_WINDOWS,
  type MaintenancePlanned,
  type MonitorDetails,
} from '../../../contracts/monitoring-additions.ts';
import { matches, requireTags } from '../../channels/monitor-filter.ts';
import {
  type Card,
  type CardAction,
  type CardPart,
  compact,
  factsPart,
  fittingActions,
  tablePart,
  textCard,
  textPart,
} from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryone, toEveryoneBy } from '../../shared/invocation.ts';
import {
  comingWords,
  monitorNames,
  plannedTogether,
  windowEndMs,
  windowWords,
} from '../../shared/maintenance-words.ts';
import { placeKey } from '../../shared/place.ts';
import { mayManage } from '../../shared/rights.ts';
import { counted, shortened } from '../../shared/text-format.ts';
import { findMonitor, isNamed, offered } from '../../tools/monitors.ts';
import { type Call, command, optionalText } from '../command.ts';
import { readWhen, splitWhen, WHEN_EXAMPLES, type When } from './maintenance-when.ts';

/** Rows of the list, and windows that are read to merge equal ones. */
const MAX_ROWS = 20;
const MAX_READ = 1_000;

/** Monitors that are named. */
const MAX_NAMED = 3;

const DAYS = 7;
const DAY_MS = 86_400_000;

const right = mayManage('plan maintenance');
const when = optionalText(
  200,
  'sat 02:00 for 2h Europe/Berlin (every week), 2026-12-01 22:00 for 90m, now for 30m, or off',
);
const reason = optionalText(200, 'Why; shown on the status page, but not to the public');

export const monitorMaintenance = command({
  name: 'monitor maintenance',
  summary: 'Plan maintenance: no alerts for a monitor during a time window; shows what is planned',
  group: 'alert',
  right: { ...right, when: mayChange },
  input: z.object({
    monitor: optionalText(
      2_048,
      'Its name, a part of it, “all with <text>” or “all tagged <tags>”; if omitted, shows what is planned',
    ),
    when,
    reason,
  }),
  examples: [
    '/monitor maintenance Shop sat 02:00 for 2h Europe/Berlin',
    '/monitor maintenance Shop 2026-12-01 22:00 for 90m',
    '/monitor maintenance all with eu now for 30m',
    '/monitor maintenance all tagged shop,eu now for 30m',
    '/monitor maintenance Shop off',
    '/monitor maintenance',
  ],
  wholeLine: true,
  async run({ monitor: text, when: typedWhen, reason }, call) {
    if (text === undefined) {
      if (typedWhen !== undefined) throw new CommandError('Say which monitor, or all.');
      return toEveryone(await plannedCard(call));
    }
    const monitors = await call.monitoring.list();
    const now = await nowIn(call);
    const isOneLine = typedWhen === undefined && !monitors.some((one) => isNamed(one, text));
    const parts = isOneLine ? splitWhen(text, now) : { monitor: text, when: typedWhen };
    if (parts.when === undefined) {
      const { id } = findMonitor(monitors, parts.monitor);
      return toEveryone(windowsCard(await offered('maintenance', call.monitoring.show(id))));
    }
    const wanted = monitorsMeant(monitors, parts.monitor);
    return await setWindows(wanted, { when: readWhen(parts.when, now), reason }, call);
  },
});

const PLAN = 'monitor maintenance plan';

/** The button under the planned windows, and its form. Without a form, it says how to type the command. */
export const planMaintenance = command({
  name: PLAN,
  summary: 'Plan maintenance, in which a monitor sends no alerts',
  right,
  input: z.object({
    monitor: optionalText(
      2_048,
      'Its name, a part of it, “all with <text>” or “all tagged <tags>”, such as: all tagged eu',
    ),
    when,
    reason,
  }),
  opens: async () => ({ form: PLAN, carried: {} }),
  form: {
    title: 'Plan maintenance',
    send: 'Plan',
    inputs: () => ['monitor', 'when', 'reason'],
    required: ['monitor', 'when'],
    // The channel's time zone is unknown here, and it may be another day there.
    check: ({ when: text = '' }) =>
      void readWhen(text, { nowMs: Date.now() - DAY_MS, zone: 'UTC' }),
  },
  async run({ monitor, when: text, reason }, call) {
    if (monitor === undefined || text === undefined) {
      const texts = [
        'Fill in the form, or type it: /monitor maintenance <monitor> <when>',
        `Examples of <when>: ${WHEN_EXAMPLES}.`,
      ];
      return toAsker(textCard('info', 'Plan maintenance', ...texts));
    }
    const wanted = monitorsMeant(await call.monitoring.list(), monitor);
    return await setWindows(wanted, { when: readWhen(text, await nowIn(call)), reason }, call);
  },
});

/** True if a line may ask for a change. A time that is wrong in UTC may be right in the channel's time zone. */
function mayChange(input: Record<'monitor' | 'when' | 'reason', string | undefined>): boolean {
  if (input.when !== undefined || input.reason !== undefined) return true;
  if (input.monitor === undefined) return false;
  try {
    return splitWhen(input.monitor, { nowMs: Date.now(), zone: 'UTC' }).when !== undefined;
  } catch (error) {
    if (error instanceof CommandError) return true;
    throw error;
  }
}

/** Now, with the time zone of the channel's quiet hours or reports. */
async function nowIn({ channels, place }: Call) {
  const { quiet, report } = await channels.settingsOf(placeKey(place));
  return { nowMs: Date.now(), zone: quiet?.zone ?? report?.zone ?? 'UTC' };
}

async function setWindows(
  wanted: readonly Monitor[],
  { when: meant, reason: why }: { when: When; reason: string | undefined },
  { monitoring, person }: Call,
) {
  const window =
    meant === 'off' ? null : { ...meant.window, ...(why !== undefined && { reason: why }) };
  const outcome: MaintenancePlanned = { planned: [], full: [], declared: [], missing: [] };
  const ids = wanted.map(({ id }) => id);
  for (let from = 0; from < ids.length; from += MAX_PLANNED) {
    const batch = { monitors: ids.slice(from, from + MAX_PLANNED), window };
    const some = await offered('planning maintenance', monitoring.planMaintenance(batch));
    for (const key of ['planned', 'full', 'declared', 'missing'] as const) {
      outcome[key].push(...some[key]);
    }
  }
  const changed = wanted.filter(({ id }) => outcome.planned.includes(id));
  const problems = problemsOf(outcome, wanted);
  if (changed.length === 0) throw new CommandError(problems);
  const names = namesOf(changed);
  const text = window
    ? 'Checks keep running, but no alerts are sent until maintenance ends.'
    : 'Alerts are sent again.';
  return toEveryoneBy(person, {
    tone: problems === '' ? 'good' : 'warning',
    title: window ? `Maintenance planned: ${names}` : `Maintenance removed: ${names}`,
    parts: compact<CardPart>(
      window !== null && windowPart(window),
      textPart(`${counted(changed.length, 'monitor')}. ${text}`),
      problems !== '' && textPart(problems),
    ),
    actions: window && changed.length === 1 ? changed.flatMap(removeAction) : [],
  });
}

const removeAction = ({ id }: { id: string }): CardAction[] =>
  fittingActions({
    label: 'Remove',
    command: monitorMaintenance.name,
    values: { monitor: id, when: 'off' },
  });

const windowPart = (window: MonitorDetails['maintenance'][number]) =>
  factsPart(
    { label: 'When', value: windowWords(window) },
    window.reason !== undefined && { label: 'Why', value: window.reason },
  );

function problemsOf(
  { full, declared, missing }: MaintenancePlanned,
  monitors: readonly Monitor[],
): string {
  return compact(
    full.length > 0 &&
      `${counted(full.length, 'monitor')} not changed: a monitor can have at most ${MAX_WINDOWS} windows. Remove them first: /monitor maintenance <monitor> off`,
    declared.length > 0 &&
      `${counted(declared.length, 'monitor')} not changed: their maintenance is declared in a file, such as ${whereDeclared(declared, monitors)}. Change it there.`,
    missing.length > 0 && `${counted(missing.length, 'monitor')} removed in the meantime.`,
  ).join(' ');
}

/** `Shop in monitors.yaml, line 12`. */
function whereDeclared([first]: readonly string[], monitors: readonly Monitor[]): string {
  const { name = '', managed_by: file } = monitors.find(({ id }) => id === first) ?? {};
  const where = file ? ` in ${shortened(file.file, 100)}, line ${file.line}` : '';
  return shortened(name, 60) + where;
}

/** `Shop`, `all`, `all with eu`, `all with “eu” in the name`, or `all tagged eu`. Throws a `CommandError` if there is none. */
function monitorsMeant(monitors: readonly Monitor[], meant: string): Monitor[] {
  const [isAll, text, inName] =
    /^all(?:\s+monitors)?(?:\s+(?:with\s+)?(.+?)(\s+in\s+(?:the|their)\s+names?)?)?$/i.exec(
      meant,
    ) ?? [];
  if (isAll === undefined || monitors.some((one) => isNamed(one, meant))) {
    return [findMonitor(monitors, meant)];
  }
  const part = text?.replace(/^["“”„'‘«](.*)["“”'’»]$/, '$1');
  if (part === undefined) {
    if (monitors.length === 0) throw new CommandError('There are no monitors yet.');
    return [...monitors];
  }
  const typedTags = /^tagged\s+(.+)$/i.exec(part)?.[1];
  if (typedTags !== undefined) {
    const { data: tags, error } = TypedTags.safeParse(typedTags);
    if (error) throw new CommandError(`${error.issues[0]?.message}.`);
    requireTags(tags, monitors);
    return monitors.filter((monitor) => matches(monitor, { tags }));
  }
  const found = monitors.filter((monitor) =>
    inName === undefined
      ? matches(monitor, { text: part })
      : monitor.name.toLowerCase().includes(part.toLowerCase()),
  );
  if (found.length > 0) return found;
  throw new CommandError(
    `No monitor with “${shortened(part, 60)}” in its name or target. See /monitor list.`,
  );
}

/** Windows that are ongoing or begin within a week. */
async function plannedCard({ monitoring }: Call): Promise<Card> {
  const { windows, total } = await offered(
    'planned maintenance',
    monitoring.planned({ days: DAYS, limit: MAX_READ }),
  );
  const nowMs = Date.now();
  const merged = plannedTogether(windows);
  const actions = [{ label: 'Plan maintenance', command: planMaintenance.name, values: {} }];
  if (merged.length === 0) {
    const text = `Plan some: ${monitorMaintenance.examples?.[0] ?? ''}`;
    return { ...textCard('info', `No maintenance in the next ${DAYS} days`, text), actions };
  }
  const rows = merged.slice(0, MAX_ROWS).map((window) => {
    const words = comingWords(window, nowMs);
    const isOngoing = Date.parse(window.starts_at) <= nowMs;
    const why = shortened(window.reason ?? '', 80);
    return [isOngoing ? `Now, ${words}` : words, namesOf(window.monitors), why];
  });
  const more = merged.length - rows.length;
  return {
    tone: 'info',
    title: `Maintenance now and in the next ${DAYS} days`,
    parts: compact<CardPart>(
      tablePart(['When', 'Monitors', 'Why'], rows),
      more > 0 && textPart(`And ${more} more.`),
      total > windows.length &&
        textPart(`Only the first ${windows.length} of ${total} windows are shown.`),
    ),
    actions,
  };
}

function namesOf(all: ReadonlyArray<{ name: string }>): string {
  const monitors = all.slice(0, MAX_NAMED).map(({ name }) => ({ name: shortened(name, 60) }));
  return monitorNames({ monitors, more: all.length - monitors.length });
}

/** The windows of one monitor. */
function windowsCard({ id, name, maintenance }: MonitorDetails): Card {
  const nowMs = Date.now();
  const windows = maintenance.filter((window) => (windowEndMs(window) ?? nowMs + 1) > nowMs);
  const title = `Maintenance for ${shortened(name, 100)}`;
  if (windows.length === 0) return textCard('info', title, 'Nothing is planned.');
  return { tone: 'info', title, parts: windows.map(windowPart), actions: removeAction({ id }) };
}
