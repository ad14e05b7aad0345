import { z } from 'zod';
import type { Monitor } from '../../../contracts/monitoring.ts';
import {
  MAX_PLANNED,
  MAX_WINDOWS,
  type MaintenancePlanned,
  type MonitorDetails,
} from '../../../contracts/monitoring-additions.ts';
import { matches } from '../../channels/channels.ts';
import {
  type Card,
  type CardAction,
  type Fact,
  factsPart,
  isCarried,
  tablePart,
  textCard,
  textPart,
} from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryone } from '../../shared/invocation.ts';
import {
  comingWords,
  monitorNames,
  type PlannedTogether,
  plannedTogether,
  windowEndMs,
  windowWords,
} from '../../shared/maintenance-words.ts';
import { placeKey } from '../../shared/place.ts';
import { counted, shortened } from '../../shared/text-format.ts';
import { findMonitor, offered } from '../../tools/monitors.ts';
import { mayManage } from '../../tools/pause-monitor.ts';
import { type Call, command, optionalText, requiredText } from '../command.ts';
import { readWhen, splitWhen, WHEN_EXAMPLES, type When } from './maintenance-when.ts';

/** Windows that are shown, and those that are asked for to put together what is one. */
const MAX_ROWS = 20;
const MAX_ASKED = 1_000;

/** Monitors that are named of several. */
const MAX_NAMED = 3;

const DAYS = 7;
const DAY_MS = 86_400_000;

const right = mayManage('plan maintenance');
const WHEN_TEXT =
  'sat 02:00 for 2h Europe/Berlin (every week), 2026-12-01 22:00 for 90m, now for 30m, or off';
const reasonText = optionalText(200, 'Why; shown on the status page, but not to the public');

/** `/monitor maintenance`: plans and shows times in which monitors send no alerts. */
export const monitorMaintenance = command({
  name: 'monitor maintenance',
  summary: 'Plan maintenance: no alerts for a monitor during a time window; shows what is planned',
  right: { ...right, when: mayChange },
  input: z.object({
    monitor: optionalText(
      2_048,
      'Its name, a part of it, or “all with <text>”; if omitted, shows what is planned',
    ),
    when: optionalText(200, WHEN_TEXT),
    reason: reasonText,
  }),
  examples: [
    '/monitor maintenance Shop sat 02:00 for 2h Europe/Berlin',
    '/monitor maintenance Shop 2026-12-01 22:00 for 90m',
    '/monitor maintenance all with eu now for 30m',
    '/monitor maintenance Shop off',
    '/monitor maintenance',
  ],
  wholeLine: true,
  async run({ monitor: text, when: whenGiven, reason }, call) {
    if (text === undefined) {
      if (whenGiven !== undefined) throw new CommandError('Say which monitor, or all.');
      return toEveryone(await plannedCard(call));
    }
    const monitors = await call.monitoring.list();
    const now = await nowIn(call);
    const isName = monitors.some(({ id, name }) => id === text || isSame(name, text));
    const { monitor, when = whenGiven } =
      whenGiven === undefined && !isName ? splitWhen(text, now) : { monitor: text };
    if (when === undefined) {
      const { id } = findMonitor(monitors, monitor);
      return toEveryone(windowsCard(await offered('maintenance', call.monitoring.show(id))));
    }
    return await setWindows({ meant: monitor, when: readWhen(when, now), reason }, monitors, call);
  },
});

/** What the button under what is planned opens. */
export const planMaintenance = command({
  name: 'monitor maintenance plan',
  summary: 'Plan maintenance, in which a monitor sends no alerts',
  right,
  input: z.object({}),
  async opens() {
    return { form: maintenanceForm.name, carried: {} };
  },
  async run() {
    const texts = [
      'Fill in the form, or type it: /monitor maintenance <monitor> <when>',
      `Examples of <when>: ${WHEN_EXAMPLES}.`,
    ];
    return toAsker(textCard('info', 'Plan maintenance', ...texts));
  },
});

/** The same as a form. */
export const maintenanceForm = command({
  name: 'monitor maintenance form',
  summary: 'Plan maintenance as its form says',
  right,
  input: z.object({
    monitor: requiredText(
      2_048,
      'Its name, a part of it, or “all with <text>”, such as: all with eu',
    ),
    when: requiredText(200, WHEN_TEXT),
    reason: reasonText,
  }),
  form: {
    title: 'Plan maintenance',
    send: 'Plan',
    inputs: () => ['monitor', 'when', 'reason'],
    // By the clocks of the channel, which are not known here, it may be another day.
    check: ({ when }) => void readWhen(when, { nowMs: Date.now() - DAY_MS, zone: 'UTC' }),
  },
  async run({ monitor, when, reason }, call) {
    const monitors = await call.monitoring.list();
    const now = await nowIn(call);
    return await setWindows({ meant: monitor, when: readWhen(when, now), reason }, monitors, call);
  },
});

/** Whether a typed line may ask for a change: one that cannot be read here may be read by other clocks. */
function mayChange({
  monitor,
  when,
  reason,
}: Record<'monitor' | 'when' | 'reason', string | undefined>): boolean {
  if (when !== undefined || reason !== undefined) return true;
  if (monitor === undefined) return false;
  try {
    return splitWhen(monitor, { nowMs: Date.now(), zone: 'UTC' }).when !== undefined;
  } catch (error) {
    if (error instanceof CommandError) return true;
    throw error;
  }
}

/** The clocks of this channel, where it has said by which it lives. */
async function nowIn({ channels, place }: Call) {
  const { quiet, report } = await channels.settingsOf(placeKey(place));
  return { nowMs: Date.now(), zone: quiet?.zone ?? report?.zone ?? 'UTC' };
}

async function setWindows(
  { meant, when, reason }: { meant: string; when: When; reason: string | undefined },
  monitors: readonly Monitor[],
  { monitoring, person }: Call,
) {
  const wanted = monitorsMeant(monitors, meant);
  const window =
    when === 'off' ? null : { ...when.window, ...(reason !== undefined && { reason }) };
  const became: MaintenancePlanned = { planned: [], full: [], declared: [], missing: [] };
  const ids = wanted.map(({ id }) => id);
  for (let from = 0; from < ids.length; from += MAX_PLANNED) {
    const some = { monitors: ids.slice(from, from + MAX_PLANNED), window };
    const { planned, full, declared, missing } = await offered(
      'planning maintenance',
      monitoring.planMaintenance(some),
    );
    became.planned.push(...planned);
    became.full.push(...full);
    became.declared.push(...declared);
    became.missing.push(...missing);
  }
  const done = wanted.filter(({ id }) => became.planned.includes(id));
  const left = leftOut(became, wanted);
  if (done.length === 0) throw new CommandError(left);
  const names = namesOf(done);
  const [only, ...others] = done;
  const off = {
    command: monitorMaintenance.name,
    values: { monitor: only?.id ?? '', when: 'off' },
  };
  const actions: CardAction[] =
    window && others.length === 0 && isCarried(off) ? [{ label: 'Remove', ...off }] : [];
  const title = window ? `Maintenance planned: ${names}` : `Maintenance removed: ${names}`;
  return toEveryone({
    tone: left === '' ? 'good' : 'warning',
    title,
    parts: [
      ...(window ? [factsPart(...factsOf(window))] : []),
      textPart(
        window
          ? `${counted(done.length, 'monitor')}. Checks keep running, but no alerts are sent until maintenance ends.`
          : `${counted(done.length, 'monitor')}. Alerts are sent again.`,
      ),
      ...(left === '' ? [] : [textPart(left)]),
    ],
    ...(actions.length > 0 && { actions }),
    footer: `By ${shortened(person.name, 80)}`,
  } satisfies Card);
}

function factsOf(window: Extract<When, object>['window']): Fact[] {
  return [
    { label: 'When', value: windowWords(window) },
    ...(window.reason === undefined ? [] : [{ label: 'Why', value: window.reason }]),
  ];
}

function leftOut(
  { full, declared, missing }: MaintenancePlanned,
  monitors: readonly Monitor[],
): string {
  return [
    ...(full.length > 0
      ? [
          `${counted(full.length, 'monitor')} not changed: a monitor can have at most ${MAX_WINDOWS} windows. Remove them first: /monitor maintenance <monitor> off`,
        ]
      : []),
    ...(declared.length > 0
      ? [
          `${counted(declared.length, 'monitor')} not changed: their maintenance is declared in a file, such as ${whereDeclared(declared, monitors)}. Change it there.`,
        ]
      : []),
    ...(missing.length > 0
      ? [`${counted(missing.length, 'monitor')} removed in the meantime.`]
      : []),
  ].join(' ');
}

/** `Shop in monitors.yaml, line 12`. */
function whereDeclared([first]: readonly string[], monitors: readonly Monitor[]): string {
  const { name = '', managed_by: place } = monitors.find(({ id }) => id === first) ?? {};
  return place
    ? `${shortened(name, 60)} in ${shortened(place.file, 100)}, line ${place.line}`
    : shortened(name, 60);
}

const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/** One by its name, or `all`, `all with eu`, `all with “eu” in the name`. Throws `CommandError` when there is none. */
function monitorsMeant(monitors: readonly Monitor[], meant: string): Monitor[] {
  const [isAll, text, inName] =
    /^all(?:\s+monitors)?(?:\s+(?:with\s+)?(.+?)(\s+in\s+(?:the|their)\s+names?)?)?$/i.exec(
      meant,
    ) ?? [];
  const isName = monitors.some(({ id, name }) => id === meant || isSame(name, meant));
  if (isAll === undefined || isName) return [findMonitor(monitors, meant)];
  const part = text?.replace(/^["“”„'‘«](.*)["“”'’»]$/, '$1');
  const found = monitors.filter(
    (monitor) =>
      part === undefined ||
      (inName === undefined
        ? matches(monitor, part)
        : monitor.name.toLowerCase().includes(part.toLowerCase())),
  );
  if (found.length > 0) return found;
  throw new CommandError(
    part === undefined
      ? 'There are no monitors yet.'
      : `No monitor with “${shortened(part, 60)}” in its name or target. See /monitor list.`,
  );
}

/** All windows that go on or begin within a week. */
async function plannedCard({ monitoring }: Call): Promise<Card> {
  const { windows, total } = await offered(
    'planned maintenance',
    monitoring.planned({ days: DAYS, limit: MAX_ASKED }),
  );
  const nowMs = Date.now();
  const together = plannedTogether(windows);
  const actions = [{ label: 'Plan maintenance', command: planMaintenance.name, values: {} }];
  if (together.length === 0) {
    const text = `Plan some: ${monitorMaintenance.examples?.[0] ?? ''}`;
    return { ...textCard('info', `No maintenance in the next ${DAYS} days`, text), actions };
  }
  const left = together.length - MAX_ROWS;
  const more = [
    ...(left > 0 ? [`And ${left} more.`] : []),
    ...(total > windows.length
      ? [`Only the first ${windows.length} of ${total} windows are shown.`]
      : []),
  ];
  return {
    tone: 'info',
    title: `Maintenance now and in the next ${DAYS} days`,
    parts: [
      tablePart(
        ['When', 'Monitors', 'Why'],
        together
          .slice(0, MAX_ROWS)
          .map((window) => [
            whenCell(window, nowMs),
            namesOf(window.monitors),
            shortened(window.reason ?? '', 80),
          ]),
      ),
      ...more.map(textPart),
    ],
    actions,
  };
}

function whenCell(window: PlannedTogether, nowMs: number): string {
  const words = comingWords(window, nowMs);
  return Date.parse(window.starts_at) <= nowMs ? `Now, ${words}` : words;
}

/** The first of them by name. */
function namesOf(all: ReadonlyArray<{ name: string }>): string {
  const monitors = all.slice(0, MAX_NAMED).map(({ name }) => ({ name: shortened(name, 60) }));
  return monitorNames({ monitors, more: all.length - monitors.length });
}

/** The windows of one monitor, as they were set. */
function windowsCard({ id, name, maintenance }: MonitorDetails): Card {
  const nowMs = Date.now();
  const kept = maintenance.filter(
    (window) => (windowEndMs(window) ?? Number.POSITIVE_INFINITY) > nowMs,
  );
  const off = {
    label: 'Remove',
    command: monitorMaintenance.name,
    values: { monitor: id, when: 'off' },
  };
  const title = `Maintenance for ${shortened(name, 100)}`;
  if (kept.length === 0) return textCard('info', title, 'Nothing is planned.');
  return {
    tone: 'info',
    title,
    parts: kept.map((window) => factsPart(...factsOf(window))),
    ...(isCarried(off) && { actions: [off] }),
  };
}
