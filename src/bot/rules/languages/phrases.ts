import type { StateKind } from './grammar.ts';

/** The words of answers in one language. What is passed in is Markdown already, or a number as it is shown. */
export interface Phrases {
  /** One and several, from the largest. */
  units: Record<'day' | 'hour' | 'minute' | 'second', readonly [one: string, many: string]>;
  /** Twelve, short. */
  months: readonly string[];
  decimalPoint: string;
  thousands: string;
  /** `26 Nov`. */
  day(day: number, month: string): string;
  /** `on 26 Nov 2026`. */
  onDay(day: string): string;
  fromTo(from: string, to: string): string;
  since: string;
  asOf(time: string): string;
  more(count: string): string;
  atLeast(count: string): string;
  /** Under a list that may lack some. */
  incomplete: string;
  monitors(count: number, shown: string): string;
  incidents(count: number, shown: string): string;
  checks(count: number, shown: string): string;
  answers(count: number, shown: string): string;
  /** `3 of 200 monitors are down`. */
  inState(state: StateKind, count: number, total: number): string;
  allUp(total: number): string;
  notUp(count: number, total: number): string;
  noMonitors: string;
  /** Alerts that other systems report. */
  firing(count: number): string;
  countOfMonitors(count: number): string;
  countOfType(type: string, count: number, total: number): string;
  slowest(name: string, time: string): string;
  noTimes: string;
  latestChange(name: string, status: string, since: string): string;
  noChanges: string;
  newest(name: string, since: string): string;
  noBegins: string;
  /** `**Shop** has been DOWN since …`. */
  statusSince(name: string, status: string, since: string): string;
  status(name: string, status: string): string;
  lastCheck: string;
  flapping: string;
  notFlapping: string;
  stale: string;
  waiting: string;
  checkedNow: string;
  certificate(name: string, time: string): string;
  certificateEnded(name: string, time: string): string;
  noCertificate(name: string): string;
  interval(name: string, duration: string): string;
  intervalOfJob(name: string, duration: string): string;
  noInterval(name: string): string;
  uptime(name: string, percent: string, span: string): string;
  unseen(name: string, span: string): string;
  uptimeOfAll(count: string, percent: string, span: string): string;
  wholeDays: string;
  allUnseen(span: string): string;
  leastUptime(name: string, percent: string, span: string): string;
  noneWasDown(span: string): string;
  wasDown(name: string, duration: string, span: string): string;
  wasNotDown(name: string, span: string): string;
  downFor: string;
  unseenFor: string;
  /** Behind a percentage of a time that was watched for less than half. */
  watchedFor(length: string): string;
  ofIt: string;
  failed(count: string): string;
  /** `before that, from … to …: 99 %`. */
  before(percent: string, span: string): string;
  beforeUnseen(span: string): string;
  responseTime(name: string, mean: string, span: string): string;
  noResponseTime(name: string, span: string): string;
  fastest: string;
  slowestTime: string;
  responseTimes: string;
  noIncidents(of: string, span: string): string;
  foundIncidents(count: string, of: string, span: string): string;
  of(name: string): string;
  goesOn: string;
  longest(name: string, duration: string, span: string): string;
  mostDown(name: string, duration: string, span: string): string;
  mostIncidents(name: string, count: string, span: string): string;
  latestIncident(name: string, time: string): string;
  wentDown(count: number, shown: string, span: string): string;
  /** Where a figure is of the newest incidents only. */
  onlyNewest(count: string): string;
  /** Where a figure is of the monitors with the most time down only. */
  onlyWorst(count: string): string;
  checksOf(name: string, count: string, failed: string): string;
  noChecks(name: string): string;
  lastChecked(name: string, time: string): string;
  passed: string;
  failedOnce: string;
  hears(sentences: string): string;
  hearsEveryAlert: string;
  used(answers: string, tokens: string, span: string): string;
  tokens(count: number, shown: string): string;
  /** Over a change that somebody has to confirm. */
  waits: string;
}
