import { POSTMORTEM } from '../../src/bot/commands/incident-actions.ts';
import { reportedId, Watching } from '../../src/bot/incidents/watch-state.ts';
import { placeKey } from '../../src/bot/shared/place.ts';
import { createRandom } from '../../test/helpers/random.ts';
import { withLastCheck } from '../week/plan.ts';
import {
  DAY_MS,
  looksOf,
  MINUTE_MS,
  NOW_MS,
  type PlannedMonitor,
  periodAt,
  responseTimeAt,
} from '../week/planned-monitor.ts';
import { at, type IncidentCase, type ScriptedAlert, type ScriptedMonitor } from './case.ts';
import { type Noise, SECRET_WORD, slugOf } from './noise.ts';

/** The channel of the alert, and the thread below it. */
export const PLACE = { platform: 'console', channel: 'shop-team' };
export const THREAD = 'alert';

/** A channel that has other alerts, notes and postmortems. */
export const OTHER_PLACE = { platform: 'console', channel: 'payroll-team' };

/** The first monitor is old enough for earlier outages. Others are newer, because each hour of the past takes time to write. */
const FIRST_CREATED_MS = NOW_MS - 95 * DAY_MS;
const CREATED_MS = NOW_MS - 7 * DAY_MS;

/** Everything there is before an investigation begins. */
export interface ScriptedWorld {
  monitors: PlannedMonitor[];
  watching: Watching;
  /** Conversations by place and thread. */
  postmortems: Array<{ place: typeof PLACE; thread: string; answer: string }>;
}

/** Puts the world of a case together. Pure. */
export function worldOf(one: IncidentCase, noise: Noise): ScriptedWorld {
  const [first, ...others] = one.monitors;
  if (!first) throw new Error(`${one.id} has no monitor`);
  const subject = { ...first, periods: [...noise.earlier, ...(first.periods ?? [])] };
  const monitors = plannedMonitors([subject, ...others, ...noise.monitors]);
  const alerts = [...(one.alerts ?? []), ...noise.alerts];
  const watching = Watching.parse({
    known: [],
    shortLists: 0,
    alerts: [
      ...earlierIncidents(one, monitors[0]),
      ...blindTimes(one),
      ...alerts.map((alert, no) =>
        reportedIncident(alert, PLACE, one.isAboutAlert && no === 0 ? THREAD : alert.name),
      ),
      reportedIncident({ ...OTHER_ALERT, from: one.startedAt }, OTHER_PLACE, 'payroll'),
      ...incidentsOf(one, monitors),
      otherChannelsGroup(monitors[0]),
    ],
    reported: [
      ...alerts.map((alert) => reportedState(alert, placeKey(PLACE))),
      reportedState({ ...OTHER_ALERT, from: one.startedAt }, placeKey(OTHER_PLACE)),
    ],
  });
  const { postmortem } = one.earlier ?? {};
  return {
    monitors,
    watching,
    postmortems: [
      ...(postmortem === undefined
        ? []
        : [{ place: PLACE, thread: 'earlier', answer: postmortemOf(postmortem) }]),
      { place: OTHER_PLACE, thread: 'earlier-elsewhere', answer: postmortemOf(SECRET_WORD) },
    ],
  };
}

export const POSTMORTEM_TURN = { question: POSTMORTEM, atMs: NOW_MS };

const postmortemOf = (cause: string) =>
  `# Postmortem\n\n## Cause\n\n${cause}\n\n## Impact\n\nNone.`;

function plannedMonitors(scripted: readonly ScriptedMonitor[]): PlannedMonitor[] {
  const idOf = (name: string) =>
    `mon_${(scripted.findIndex((one) => one.name === name) + 1).toString(16).padStart(16, '7')}`;
  return scripted.map((one, no) => {
    const { name, type = 'HTTP', target = targetOf(one), config, tags, runbook } = one;
    const id = idOf(name);
    const everyMs = type === 'HEARTBEAT' || type === 'CERTIFICATE' ? 60 * MINUTE_MS : MINUTE_MS;
    const random = createRandom(Number.parseInt(id.slice(-4), 16));
    const isWeb = type === 'HTTP' || type === 'KEYWORD';
    const { certificateEnds, created, settingsChanged } = one;
    const { dependsOn = [], levels, periods = [] } = one;
    const usualCreatedMs = no === 0 ? FIRST_CREATED_MS : CREATED_MS;
    const usual = [['01-01 00:00', 80 + Math.round(200 * random())]] as const;
    return withLastCheck({
      ...{ id, name, type, everyMs },
      definition: {
        ...{ name, target, check_type: type, config, tags, runbook },
        ...(dependsOn.length > 0 && { depends_on: dependsOn.map(idOf) }),
      } as PlannedMonitor['definition'],
      createdMs: created === undefined ? usualCreatedMs : at(created),
      ...(settingsChanged !== undefined && { settingsChangedMs: at(settingsChanged) }),
      phaseMs: 2_000 + Math.floor(random() * 50_000),
      levels:
        type === 'HEARTBEAT'
          ? []
          : (levels ?? usual).map(([from, ms]) => ({ fromMs: at(from), ms })),
      ...((isWeb || certificateEnds !== undefined) && {
        certificateEndsMs:
          certificateEnds === undefined ? NOW_MS + 60 * DAY_MS : at(certificateEnds),
      }),
      periods: [...periods].sort((a, b) => a.fromMs - b.fromMs),
    });
  });
}

const targetOf = ({ name, type }: ScriptedMonitor) =>
  type === 'HEARTBEAT' ? slugOf(name) : `https://${slugOf(name)}.example`;

function deliveryOf(place: typeof PLACE, thread: string) {
  return {
    ...{ place: placeKey(place), postId: thread, attempted: true, deliveredVersion: 1 },
    ...{ posted: { message: thread, thread }, failures: 0, nextTryAtMs: 0 },
  };
}

/** The incidents of the alert: of the first monitor, or of all of the case in one group. */
function incidentsOf(
  { isGroup, isAboutAlert, monitors: own, notes = [] }: IncidentCase,
  monitors: readonly PlannedMonitor[],
) {
  if (isAboutAlert) return [];
  const notesKept = notes.map(({ at: time, ...note }) => ({ ...note, atMs: at(time) }));
  const subjects = monitors
    .slice(0, isGroup ? own.length : 1)
    .filter((monitor) => periodAt(monitor, NOW_MS - 1) !== undefined);
  const incidents = subjects.map((monitor, no) => ({
    ...incidentOf(monitor, periodAt(monitor, NOW_MS - 1)?.fromMs ?? NOW_MS, `incident-${no}`),
    ...(!isGroup && { deliveries: [deliveryOf(PLACE, THREAD)], notes: notesKept }),
  }));
  if (!isGroup) return incidents;
  const members = incidents.map(
    ({ id, version, monitorId, name, status, startedAtMs, reason }) => ({
      ...{ incidentId: id, version, monitorId, name, status, startedAtMs, reason, times: 1 },
    }),
  );
  const group = {
    ...{ kind: 'group', id: 'group', version: 1, openedAtMs: NOW_MS, place: placeKey(PLACE) },
    ...{ deliveries: [deliveryOf(PLACE, THREAD)], members, notes: notesKept },
  };
  return [...incidents, group];
}

function incidentOf(monitor: PlannedMonitor, fromMs: number, id: string) {
  const { id: monitorId, name, type: checkType, definition } = monitor;
  const { status = 'DOWN', reason, toMs } = periodAt(monitor, fromMs) ?? {};
  const before = looksOf(monitor, { fromMs: fromMs - 20 * MINUTE_MS, toMs: fromMs });
  const responseTimesMs = before.map((atMs) => responseTimeAt(monitor, atMs) ?? 0);
  return {
    ...{ kind: 'incident', id, version: 1, openedAtMs: fromMs, deliveries: [], monitorId, name },
    ...{ target: definition.target, checkType, status, startedAtMs: fromMs, reason },
    ...(status === 'DEGRADED' && { degraded: status }),
    ...(toMs !== undefined && { endedAtMs: toMs }),
    ...(checkType !== 'HEARTBEAT' && { responseTimesMs }),
  };
}

/** Earlier alerts of the monitor: one that only the other channel got, and perhaps one in this channel. */
function earlierIncidents({ earlier }: IncidentCase, monitor: PlannedMonitor | undefined) {
  if (!monitor) return [];
  const [first] = monitor.periods;
  const noted = (text: string) => [{ by: 'Eve', text, atMs: first?.fromMs ?? 0 }];
  return [
    {
      ...incidentOf(monitor, first?.fromMs ?? 0, 'earlier-elsewhere'),
      deliveries: [deliveryOf(OTHER_PLACE, 'earlier-elsewhere')],
      notes: noted(SECRET_WORD),
    },
    ...(earlier === undefined
      ? []
      : [
          {
            ...incidentOf(monitor, at(earlier.from), 'earlier'),
            deliveries: [deliveryOf(PLACE, 'earlier')],
            notes: earlier.note === undefined ? [] : noted(earlier.note),
          },
        ]),
  ];
}

const blindTimes = ({ blind = [] }: IncidentCase) =>
  blind.map(({ from, to, why }, no) => ({
    ...{ kind: 'monitoring-outage', id: `blind-${no}`, version: 1, openedAtMs: at(from), why },
    ...{ deliveries: [], startedAtMs: at(from), endedAtMs: at(to) },
  }));

const OTHER_ALERT = {
  name: `Payroll export failed ${SECRET_WORD}`,
  intake: 'Payroll',
  reason: `A change by ${SECRET_WORD} broke it.`,
};

/** A group of the other channel that has the same monitor, with a note. */
const otherChannelsGroup = (monitor: PlannedMonitor | undefined) => ({
  ...{ kind: 'group', id: 'group-elsewhere', version: 1, openedAtMs: NOW_MS },
  ...{ place: placeKey(OTHER_PLACE), deliveries: [deliveryOf(OTHER_PLACE, 'elsewhere')] },
  members: [
    {
      ...{ incidentId: 'incident-0', version: 1, monitorId: monitor?.id ?? '', times: 1 },
      ...{ name: monitor?.name ?? '', status: 'DOWN', startedAtMs: NOW_MS },
    },
  ],
  notes: [{ by: 'Eve', text: `The cause is ${SECRET_WORD}.`, atMs: NOW_MS }],
});

const keyOf = ({ name, intake }: Pick<ScriptedAlert, 'name' | 'intake'>) =>
  reportedId(intake, name);

function reportedState(alert: ScriptedAlert, place: string) {
  const { name, intake, from } = alert;
  return {
    ...{ id: keyOf(alert), intake, place, key: name, name, status: 'FIRING' },
    ...{ startedAtMs: at(from), lastReportAtMs: at(from) },
  };
}

function reportedIncident(alert: ScriptedAlert, place: typeof PLACE, thread: string) {
  const { name, intake, from, reason, facts = {} } = alert;
  return {
    ...{ kind: 'incident', id: keyOf(alert), version: 1, openedAtMs: at(from), intake, name },
    deliveries: [deliveryOf(place, thread)],
    ...{ monitorId: keyOf(alert), target: intake, checkType: 'ALERT', status: 'FIRING' },
    ...{ startedAtMs: at(from), reason },
    reported: {
      place: placeKey(place),
      facts: Object.entries(facts).map(([label, value]) => ({ label, value })),
      links: [],
    },
  };
}
