import type { Phrases } from './phrases.ts';

const STATES = {
  down: 'ausgefallen',
  up: 'erreichbar',
  degraded: 'beeinträchtigt',
  paused: 'pausiert',
  maintenance: 'in Wartung',
  flapping: 'am Flappen',
};

const noun = (one: string, many: string) => (count: number, shown: string) =>
  `${shown} ${count === 1 ? one : many}`;
const are = (count: number) => (count === 1 ? 'ist' : 'sind');
const ofMonitors = (total: number) => `${total} ${total === 1 ? 'Monitor' : 'Monitoren'}`;

/** The words of answers in German. */
export const sayGerman: Phrases = {
  units: {
    day: ['Tag', 'Tage'],
    hour: ['Stunde', 'Stunden'],
    minute: ['Minute', 'Minuten'],
    second: ['Sekunde', 'Sekunden'],
  },
  months: 'Jan. Feb. März Apr. Mai Juni Juli Aug. Sep. Okt. Nov. Dez.'.split(' '),
  decimalPoint: ',',
  thousands: '.',
  day: (day, month) => `${day}. ${month}`,
  onDay: (day) => `am ${day}`,
  fromTo: (from, to) => `vom ${from} bis ${to}`,
  since: 'seit',
  asOf: (time) => `Stand ${time}`,
  more: (count) => `und ${count} weitere`,
  atLeast: (count) => `mindestens ${count}`,
  incomplete:
    'Es können mehr sein: Nicht alle Vorfälle dieser Zeit sind aufbewahrt oder aufgeführt.',
  monitors: noun('Monitor', 'Monitore'),
  incidents: noun('Vorfall', 'Vorfälle'),
  checks: noun('Prüfung', 'Prüfungen'),
  answers: noun('Antwort', 'Antworten'),
  tokens: noun('Token', 'Tokens'),
  inState: (state, count, total) =>
    count === 0
      ? total === 1
        ? `Nichts ist ${STATES[state]}; es gibt 1 Monitor`
        : `Keiner der ${total} Monitore ist ${STATES[state]}`
      : `${count} von ${ofMonitors(total)} ${are(count)} ${STATES[state]}`,
  allUp: (total) =>
    total === 1 ? 'Der einzige Monitor ist erreichbar' : `Alle ${total} Monitore sind erreichbar`,
  notUp: (count, total) => `${count} von ${ofMonitors(total)} ${are(count)} nicht UP`,
  noMonitors: 'Es gibt noch keine Monitore.',
  firing: (count) =>
    count === 1
      ? 'Ein Alarm, den ein anderes System hierher meldet, ist aktiv'
      : `${count} Alarme, die andere Systeme hierher melden, sind aktiv`,
  countOfMonitors: (count) => `Es gibt ${count} ${count === 1 ? 'Monitor' : 'Monitore'}`,
  countOfType: (type, count, total) =>
    `${count} von ${ofMonitors(total)} ${are(count)} vom Typ ${type}`,
  slowest: (name, time) => `${name} ist am langsamsten, mit ${time} bei der letzten Prüfung`,
  noTimes: 'Es sind keine Antwortzeiten bekannt.',
  latestChange: (name, status, since) =>
    `Die letzte Änderung ist die von ${name}: ${status} ${since}`,
  noChanges: 'Es sind keine Änderungen bekannt.',
  newest: (name, since) => `${name} ist am neuesten und wird ${since} überwacht`,
  noBegins: 'Der Überwachungsdienst sagt nicht, seit wann er etwas überwacht.',
  statusSince: (name, status, since) => `${name} ist ${status} ${since}`,
  status: (name, status) => `${name} ist ${status}`,
  lastCheck: 'Letzte Prüfung',
  flapping: 'flappt: wechselt ständig zwischen UP und DOWN',
  notFlapping: 'flappt nicht',
  stale: 'zuletzt war nichts zu erfahren, dies kann also veraltet sein',
  waiting: 'wartet auf den ersten Ping',
  checkedNow: 'eben geprüft',
  certificate: (name, time) => `Das Zertifikat von ${name} läuft ab am ${time}`,
  certificateEnded: (name, time) => `Das Zertifikat von ${name} ist abgelaufen am ${time}`,
  noCertificate: (name) => `Von ${name} ist kein Zertifikat bekannt.`,
  interval: (name, duration) => `${name} wird geprüft im Abstand von: ${duration}.`,
  intervalOfJob: (name, duration) =>
    `Der Job von ${name} soll sich melden im Abstand von: ${duration}.`,
  noInterval: (name) => `Wie oft ${name} geprüft wird, ist nicht bekannt.`,
  uptime: (name, percent, span) => `${name} hatte eine Verfügbarkeit von ${percent} ${span}`,
  unseen: (name, span) =>
    `${name} wurde ${span} nicht überwacht, die Verfügbarkeit ist also nicht bekannt.`,
  uptimeOfAll: (count, percent, span) => `Verfügbarkeit ${span}: ${percent} über ${count}`,
  wholeDays: 'ganze Tage',
  allUnseen: (span) =>
    `Es wurde ${span} nichts überwacht, es ist also keine Verfügbarkeit bekannt.`,
  leastUptime: (name, percent, span) =>
    `${name} hatte die geringste Verfügbarkeit: ${percent} ${span}`,
  noneWasDown: (span) => `Kein Monitor war ausgefallen ${span}`,
  wasDown: (name, duration, span) => `${name} war ausgefallen ${span}: insgesamt ${duration}`,
  wasNotDown: (name, span) => `${name} war nicht ausgefallen ${span}`,
  downFor: 'Ausgefallen',
  unseenFor: 'Nicht überwacht',
  watchedFor: (length) => `${length} lang überwacht`,
  ofIt: 'Verfügbarkeit',
  failed: (count) => `${count} fehlgeschlagen`,
  before: (percent, span) => `Davor, ${span}: ${percent}`,
  beforeUnseen: (span) => `Davor, ${span}: nicht überwacht`,
  responseTime: (name, mean, span) => `${name} antwortete ${span} im Mittel nach ${mean}`,
  noResponseTime: (name, span) => `Von ${name} sind ${span} keine Antwortzeiten bekannt.`,
  fastest: 'schnellste',
  slowestTime: 'langsamste',
  responseTimes: 'Antwortzeit, Mittel',
  noIncidents: (of, span) => `Keine Vorfälle${of} ${span}`,
  foundIncidents: (count, of, span) => `${count}${of} ${span}`,
  of: (name) => ` von ${name}`,
  goesOn: 'dauert an',
  longest: (name, duration, span) => `Der längste Vorfall ${span} war der von ${name}: ${duration}`,
  mostDown: (name, duration, span) => `${name} war am längsten ausgefallen ${span}: ${duration}`,
  mostIncidents: (name, count, span) => `${name} hatte die meisten Vorfälle ${span}: ${count}`,
  latestIncident: (name, time) => `Der letzte Vorfall war der von ${name}, ${time}`,
  wentDown: (count, shown, span) =>
    count === 1
      ? `${shown} Monitor war ausgefallen ${span}`
      : `${shown} Monitore waren ausgefallen ${span}`,
  onlyNewest: (count) => `Dafür wurden nur die neuesten ${count} Vorfälle angesehen.`,
  onlyWorst: (count) =>
    `Dafür wurden nur die ${count} Monitore mit der meisten Ausfallzeit angesehen.`,
  checksOf: (name, count, failed) => `${count} von ${name}: ${failed}`,
  noChecks: (name) => `Von ${name} sind noch keine Prüfungen bekannt.`,
  lastChecked: (name, time) => `${name} wurde zuletzt geprüft: ${time}`,
  passed: 'bestanden',
  failedOnce: 'fehlgeschlagen',
  hears: (sentences) => `Für diesen Kanal ist eingestellt: ${sentences}`,
  hearsEveryAlert:
    'Außerdem kommt in diesem Kanal jeder Alarm an; so hat es der Betreiber eingestellt.',
  waits: 'Noch ist nichts geändert. Erst die Bestätigung unten führt es aus.',
  used: (answers, tokens, span) => `${answers} mit ${tokens} ${span}`,
};
