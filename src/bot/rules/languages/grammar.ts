import type { Language } from './language.ts';

/** What questions ask for, whatever their language. */
export type QuestionKind =
  | 'overview'
  | StateKind
  | 'count'
  | 'countOfType'
  | 'list'
  | 'slowest'
  | 'changes'
  | 'newest'
  | 'status'
  | 'flaps'
  | 'certificate'
  | 'interval'
  | 'uptime'
  | 'uptimeOfAll'
  | 'worstUptime'
  | 'downtime'
  | 'responseTime'
  | 'incidents'
  | 'incidentCount'
  | 'longest'
  | 'worst'
  | 'mostIncidents'
  | 'lastIncident'
  | 'wentDown'
  | 'checks'
  | 'lastCheck'
  | 'checkNow'
  | 'alerts'
  | 'usage'
  | 'watch'
  | 'pause'
  | 'resume';

/** States that monitors are listed by. */
export type StateKind = 'down' | 'up' | 'degraded' | 'paused' | 'maintenance' | 'flapping';

/** Ways to say a day. */
export type DayKind =
  | 'today'
  | 'yesterday'
  | 'beforeYesterday'
  | 'date'
  | 'weekday'
  | 'lastWeekday';

/** Ways to say a time to look at. */
export type SpanKind =
  | 'lastCount'
  | 'lastOne'
  | 'thisWeek'
  | 'lastWeek'
  | 'thisMonth'
  | 'lastMonth'
  | 'on'
  | 'since'
  | 'sinceTime'
  | 'between';

/** Minutes, hours, days, weeks, and months, which `last` of a tool does not know; seconds are for how often is checked. */
export type Unit = 's' | 'm' | 'h' | 'd' | 'w' | 'month';

/**
 * How questions are said in one language. Templates are as `createTemplates` reads them, with the slots `{m}` (the name of a
 * monitor), `{span}`, `{n}` (a number), `{type}` (of check), `{target}`, `{name}` and `{unit}`; those of days have `{d}`,
 * `{month}`, `{year}`, `{iso}`, `{dm}` and `{weekday}`, those of spans `{day}` and `{day2}` besides.
 */
export interface Grammar {
  language: Language;
  macros: Record<string, string>;
  /** What polite people say before and after a question. */
  openings: string[];
  closings: string[];
  /** Words that say nothing wherever they stand. */
  polite: string;
  /** What is left off before and behind a name. */
  aroundNames: string;
  /** Words that an unquoted name never holds: with them something is asked that no rule knows. */
  notInNames: string;
  /** Twelve and seven, from January and from Sunday; each a choice. */
  months: string[];
  weekdays: string[];
  /** A day and a month in figures. */
  dayAndMonth: RegExp;
  numbers: Record<string, number>;
  units: Record<Unit, string>;
  days: Record<DayKind, string[]>;
  spans: Record<SpanKind, string[]>;
  questions: Record<QuestionKind, string[]>;
}

/** What can be said of one monitor and of all: each template twice, with the word of each. */
export function forAll(templates: readonly string[], words: readonly string[]): string[] {
  return words.flatMap((word) => templates.map((one) => one.replaceAll('STATE', word)));
}
