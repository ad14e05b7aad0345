import type { Phrases } from './phrases.ts';

const STATES = {
  down: 'down',
  up: 'up',
  degraded: 'degraded',
  paused: 'paused',
  maintenance: 'in maintenance',
  flapping: 'flapping',
};

const noun = (one: string) => (count: number, shown: string) =>
  `${shown} ${one}${count === 1 ? '' : 's'}`;
const monitors = noun('monitor');

/** The words of answers in English. */
export const sayEnglish: Phrases = {
  units: {
    day: ['day', 'days'],
    hour: ['hour', 'hours'],
    minute: ['minute', 'minutes'],
    second: ['second', 'seconds'],
  },
  months: 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' '),
  decimalPoint: '.',
  thousands: ',',
  day: (day, month) => `${day} ${month}`,
  onDay: (day) => `on ${day}`,
  fromTo: (from, to) => `from ${from} to ${to}`,
  since: 'since',
  asOf: (time) => `as of ${time}`,
  more: (count) => `and ${count} more`,
  atLeast: (count) => `at least ${count}`,
  incomplete: 'There may be more: not all incidents of that time are kept or listed.',
  monitors,
  incidents: noun('incident'),
  checks: noun('check'),
  answers: noun('answer'),
  tokens: noun('token'),
  inState: (state, count, total) => {
    if (count === 0) return `No monitor is ${STATES[state]}, of ${total}`;
    return `${count} of ${monitors(total, `${total}`)} ${count === 1 ? 'is' : 'are'} ${STATES[state]}`;
  },
  allUp: (total) => (total === 1 ? 'The one monitor is up' : `All ${total} monitors are up`),
  notUp: (count, total) =>
    `${count} of ${monitors(total, `${total}`)} ${count === 1 ? 'is' : 'are'} not up`,
  noMonitors: 'There are no monitors yet.',
  firing: (count) =>
    count === 1
      ? 'One alert that another system reports here fires'
      : `${count} alerts that other systems report here fire`,
  countOfMonitors: (count) => `There ${count === 1 ? 'is' : 'are'} ${monitors(count, `${count}`)}`,
  countOfType: (type, count, total) =>
    `${count} of ${monitors(total, `${total}`)} ${count === 1 ? 'is' : 'are'} of type ${type}`,
  slowest: (name, time) => `${name} is the slowest, with ${time} at its last check`,
  noTimes: 'No response times are known.',
  latestChange: (name, status, since) => `The latest change is of ${name}: ${status} ${since}`,
  noChanges: 'No changes are known.',
  newest: (name, since) => `${name} is the newest, watched ${since}`,
  noBegins: 'The monitoring service does not tell since when it watches.',
  statusSince: (name, status, since) => `${name} has been ${status} ${since}`,
  status: (name, status) => `${name} is ${status}`,
  lastCheck: 'Last check',
  flapping: 'it is flapping: it goes up and down all the time',
  notFlapping: 'it is not flapping',
  stale: 'nothing was learned of it lately, so this may be out of date',
  waiting: 'waiting for its first ping',
  checkedNow: 'checked just now',
  certificate: (name, time) => `The certificate of ${name} ends on ${time}`,
  certificateEnded: (name, time) => `The certificate of ${name} ended on ${time}`,
  noCertificate: (name) => `No certificate of ${name} is known.`,
  interval: (name, duration) => `${name} is checked every ${duration}.`,
  intervalOfJob: (name, duration) => `The job of ${name} is to ping every ${duration}.`,
  noInterval: (name) => `How often ${name} is checked is not known.`,
  uptime: (name, percent, span) => `${name} had an uptime of ${percent} ${span}`,
  unseen: (name, span) => `${name} was not watched ${span}, so its uptime is not known.`,
  uptimeOfAll: (count, percent, span) => `${count} had an uptime of ${percent} ${span}`,
  wholeDays: 'whole days',
  allUnseen: (span) => `Nothing was watched ${span}, so no uptime is known.`,
  leastUptime: (name, percent, span) => `${name} had the least uptime: ${percent} ${span}`,
  noneWasDown: (span) => `No monitor was down ${span}`,
  wasDown: (name, duration, span) => `${name} was down for ${duration} ${span}`,
  wasNotDown: (name, span) => `${name} was not down ${span}`,
  downFor: 'Down',
  unseenFor: 'Not watched',
  watchedFor: (length) => `watched for ${length}`,
  ofIt: 'uptime',
  failed: (count) => `${count} failed`,
  before: (percent, span) => `Before that, ${span}: ${percent}`,
  beforeUnseen: (span) => `Before that, ${span}: not watched`,
  responseTime: (name, mean, span) => `${name} took ${mean} on average to answer ${span}`,
  noResponseTime: (name, span) => `No response times of ${name} are known ${span}.`,
  fastest: 'fastest',
  slowestTime: 'slowest',
  responseTimes: 'Response time, mean',
  noIncidents: (of, span) => `No incidents${of} ${span}`,
  foundIncidents: (count, of, span) => `${count}${of} ${span}`,
  of: (name) => ` of ${name}`,
  goesOn: 'goes on',
  longest: (name, duration, span) => `The longest incident ${span} was of ${name}: ${duration}`,
  mostDown: (name, duration, span) => `${name} was down the most ${span}: ${duration}`,
  mostIncidents: (name, count, span) => `${name} had the most incidents ${span}: ${count}`,
  latestIncident: (name, time) => `The latest incident was of ${name}, ${time}`,
  wentDown: (count, shown, span) =>
    `${monitors(count, shown)} ${count === 1 ? 'was' : 'were'} down ${span}`,
  onlyNewest: (count) => `Only the newest ${count} incidents were looked at for this.`,
  onlyWorst: (count) =>
    `Only the ${count} monitors with the most time down were looked at for this.`,
  checksOf: (name, count, failed) => `The last ${count} of ${name}: ${failed}`,
  noChecks: (name) => `No checks of ${name} are known yet.`,
  lastChecked: (name, time) => `${name} was last checked at ${time}`,
  passed: 'passed',
  failedOnce: 'failed',
  hears: (sentences) => sentences,
  hearsEveryAlert: 'Besides, whoever runs Askwatch has this channel hear every alert.',
  waits: 'Nothing is changed yet: it waits for somebody to confirm it.',
  used: (answers, tokens, span) => `${answers} with ${tokens} ${span}`,
};
