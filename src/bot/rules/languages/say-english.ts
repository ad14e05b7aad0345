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
    if (count === 0) {
      return total === 1
        ? `Nothing is ${STATES[state]}; you have 1 monitor`
        : `None of the ${total} monitors is ${STATES[state]}`;
    }
    return `${count} of ${monitors(total, `${total}`)} ${count === 1 ? 'is' : 'are'} ${STATES[state]}`;
  },
  allUp: (total) => (total === 1 ? 'The only monitor is up' : `All ${total} monitors are up`),
  notUp: (count, total) =>
    `${count} of ${monitors(total, `${total}`)} ${count === 1 ? 'is' : 'are'} not up`,
  noMonitors: 'There are no monitors yet.',
  firing: (count) =>
    count === 1
      ? '1 alert from another system is firing in this channel'
      : `${count} alerts from other systems are firing in this channel`,
  countOfMonitors: (count) => `There ${count === 1 ? 'is' : 'are'} ${monitors(count, `${count}`)}`,
  countOfType: (type, count, total) =>
    `${count} of ${monitors(total, `${total}`)} ${count === 1 ? 'is' : 'are'} of type ${type}`,
  slowest: (name, time) => `${name} is the slowest, with ${time} at its last check`,
  noTimes: 'No response times have been recorded.',
  latestChange: (name, status, since) => `Latest change: ${name}, ${status} ${since}`,
  noChanges: 'No status changes have been recorded.',
  newest: (name, since) => `${name} is the newest monitor, watched ${since}`,
  noBegins: 'The monitoring service does not say when monitors were added.',
  statusSince: (name, status, since) => `${name} has been ${status} ${since}`,
  status: (name, status) => `${name} is ${status}`,
  lastCheck: 'Last check',
  flapping: 'it is flapping: it keeps going up and down',
  notFlapping: 'it is not flapping',
  stale: 'no news for a while, so this may be out of date',
  waiting: 'waiting for its first ping',
  checkedNow: 'checked just now',
  certificate: (name, time) => `The certificate of ${name} expires ${time}`,
  certificateEnded: (name, time) => `The certificate of ${name} expired ${time}`,
  noCertificate: (name) => `No certificate is known for ${name}.`,
  interval: (name, duration) => `${name} is checked every ${duration}.`,
  intervalOfJob: (name, duration) => `The job of ${name} should ping every ${duration}.`,
  noInterval: (name) => `It is not known how often ${name} is checked.`,
  uptime: (name, percent, span) => `${name} had an uptime of ${percent} ${span}`,
  unseen: (name, span) => `${name} was not watched ${span}, so its uptime is not known.`,
  uptimeOfAll: (count, percent, span) => `${count} had an uptime of ${percent} ${span}`,
  wholeDays: 'whole days',
  allUnseen: (span) => `Nothing was watched ${span}, so no uptime is known.`,
  leastUptime: (name, percent, span) => `${name} had the lowest uptime: ${percent} ${span}`,
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
  responseTime: (name, mean, span) => `${name} took ${mean} on average to respond ${span}`,
  noResponseTime: (name, span) => `No response times are known for ${name} ${span}.`,
  fastest: 'fastest',
  slowestTime: 'slowest',
  responseTimes: 'Mean response time',
  noIncidents: (of, span) => `No incidents${of} ${span}`,
  foundIncidents: (count, of, span) => `${count}${of} ${span}`,
  of: (name) => ` of ${name}`,
  goesOn: 'ongoing',
  longest: (name, duration, span) => `Longest incident ${span}: ${name}, ${duration}`,
  mostDown: (name, duration, span) => `${name} was down the most ${span}: ${duration}`,
  mostIncidents: (name, count, span) => `${name} had the most incidents ${span}: ${count}`,
  latestIncident: (name, time) => `Latest incident: ${name}, ${time}`,
  wentDown: (count, shown, span) =>
    `${monitors(count, shown)} ${count === 1 ? 'was' : 'were'} down ${span}`,
  onlyNewest: (count) => `This covers only the newest ${count} incidents.`,
  onlyWorst: (count) => `This covers only the ${count} monitors with the most downtime.`,
  checksOf: (name, count, failed) => `The last ${count} of ${name}: ${failed}`,
  noChecks: (name) => `No checks of ${name} yet.`,
  lastChecked: (name, time) => `${name} was last checked at ${time}`,
  passed: 'passed',
  failedOnce: 'failed',
  hears: (sentences) => sentences,
  hearsEveryAlert: 'In addition, your Askwatch admin has every alert posted in this channel.',
  waits: 'Nothing has changed yet. Confirm below to go ahead.',
  used: (answers, tokens, span) => `${answers} with ${tokens} ${span}`,
};
