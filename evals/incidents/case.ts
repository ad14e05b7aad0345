import type { CheckType } from '../../src/contracts/monitoring.ts';
import type { Outcome } from '../../src/monitoring/checks/check-result.ts';
import type { Period } from '../week/planned-monitor.ts';

export const CAUSE_KINDS = [
  'deploy',
  'certificate',
  'dns',
  'dependency',
  'own-network',
  'overload',
  'wrong-keyword',
  'clock',
] as const;
export type CauseKind = (typeof CAUSE_KINDS)[number];

/** Tools of the team's server that only read. */
export const TEAM_TOOLS = ['find_deployments', 'search_logs', 'search_issues'] as const;
export type TeamTool = (typeof TEAM_TOOLS)[number];

/** A monitor as a case has it. Absent fields are ordinary: an HTTP check of its own host each minute that passes. */
export interface ScriptedMonitor {
  name: string;
  type?: CheckType;
  target?: string;
  config?: Record<string, unknown>;
  tags?: string[];
  /** Names. */
  dependsOn?: string[];
  runbook?: string;
  /** Mean response times in milliseconds, each from a time on. */
  levels?: ReadonlyArray<readonly [from: string, ms: number]>;
  certificateEnds?: string;
  created?: string;
  settingsChanged?: string;
  /** Times in which it wasn't UP, oldest first. */
  periods?: readonly Period[];
}

/** An alert from another system that is firing in the channel. */
export interface ScriptedAlert {
  name: string;
  from: string;
  intake: string;
  reason: string;
  facts?: Record<string, string>;
}

/** An incident with a known cause. */
export interface IncidentCase {
  /** Never reused: results are stored under it. */
  id: string;
  kind: CauseKind;
  startedAt: string;
  /** The alert is about the first one. */
  monitors: readonly ScriptedMonitor[];
  /** The alert is about all of `monitors` that are in trouble. */
  isGroup?: boolean;
  /** The investigation is about the first of `alerts`, not about a monitor. */
  isAboutAlert?: boolean;
  alerts?: readonly ScriptedAlert[];
  /** Notes that people added to the alert. */
  notes?: ReadonlyArray<{ by: string; text: string; at: string }>;
  /** An earlier alert of the first monitor in this channel; the monitor has a period that begins at the same time. */
  earlier?: { from: string; note?: string; postmortem?: string };
  /** Times in which Askwatch didn't see its monitoring service. */
  blind?: ReadonlyArray<{ from: string; to: string; why: string }>;
  /** Lines that a tool returns, next to the noise. */
  found?: Partial<Record<TeamTool, readonly string[]>>;
  /** A right conclusion, as a person would write it. */
  cause: string;
  nextStep: string;
  /** Words that every right cause has. */
  right: readonly RegExp[];
  /** The words of facts and tool results that show the cause: at least one has to be among the evidence. */
  shownBy: readonly RegExp[];
  /** Further causes that the noise suggests. */
  wrong?: readonly RegExp[];
}

/** A case in a file of one kind. */
export type CaseOfKind = Omit<IncidentCase, 'kind'>;

/** A time of 2026 in UTC: `11-24 09:12`, or `09:12` of the day on which the clock stands. */
export const at = (text: string) =>
  Date.parse(`2026-${text.length > 8 ? text.replace(' ', 'T') : `11-26T${text}`}Z`);

const problem =
  (status: 'DOWN' | 'DEGRADED') =>
  (from: string, outcome: Outcome, reason: string, to?: string): Period => ({
    ...{ status, fromMs: at(from), outcome, reason },
    ...(to !== undefined && { toMs: at(to) }),
  });

/** Until now if it has no end. */
export const down = problem('DOWN');
export const degraded = problem('DEGRADED');

/** A monitor that is DOWN from a time on. */
export const failing = (
  name: string,
  from: string,
  outcome: Outcome,
  reason: string,
  more: Partial<ScriptedMonitor> = {},
): ScriptedMonitor => ({ name, periods: [down(from, outcome, reason)], ...more });

export const answered = (status: string) => `answered ${status}, expected 200-299`;
