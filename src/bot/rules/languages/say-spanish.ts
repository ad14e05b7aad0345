import type { Phrases } from './phrases.ts';

/** One and several. */
const STATES = {
  down: ['caído', 'caídos'],
  up: ['en línea', 'en línea'],
  degraded: ['degradado', 'degradados'],
  paused: ['en pausa', 'en pausa'],
  maintenance: ['en mantenimiento', 'en mantenimiento'],
  flapping: ['inestable (flapping)', 'inestables (flapping)'],
} as const;

const noun = (one: string, many: string) => (count: number, shown: string) =>
  `${shown} ${count === 1 ? one : many}`;
const monitors = noun('monitor', 'monitores');
const are = (count: number) => (count === 1 ? 'está' : 'están');

/** The words of answers in Spanish. */
export const saySpanish: Phrases = {
  units: {
    day: ['día', 'días'],
    hour: ['hora', 'horas'],
    minute: ['minuto', 'minutos'],
    second: ['segundo', 'segundos'],
  },
  months: 'ene feb mar abr may jun jul ago sept oct nov dic'.split(' '),
  decimalPoint: ',',
  thousands: '.',
  day: (day, month) => `${day} ${month}`,
  onDay: (day) => `el ${day}`,
  fromTo: (from, to) => `del ${from} al ${to}`,
  since: 'desde',
  asOf: (time) => `a las ${time}`,
  more: (count) => `y ${count} más`,
  atLeast: (count) => `al menos ${count}`,
  incomplete: 'Puede haber más: no se conservan o no se listan todos los incidentes de ese tiempo.',
  monitors,
  incidents: noun('incidente', 'incidentes'),
  checks: noun('comprobación', 'comprobaciones'),
  answers: noun('respuesta', 'respuestas'),
  tokens: noun('token', 'tokens'),
  inState: (state, count, total) =>
    count === 0
      ? total === 1
        ? `No hay nada ${STATES[state][0]}; hay 1 monitor`
        : `Ninguno de los ${total} monitores está ${STATES[state][0]}`
      : `${count} de ${monitors(total, `${total}`)} ${are(count)} ${STATES[state][count === 1 ? 0 : 1]}`,
  allUp: (total) =>
    total === 1 ? 'El único monitor está en línea' : `Los ${total} monitores están en línea`,
  notUp: (count, total) => `${count} de ${monitors(total, `${total}`)} no ${are(count)} UP`,
  noMonitors: 'Todavía no hay monitores.',
  firing: (count) =>
    count === 1
      ? 'Una alerta de otro sistema está activa en este canal'
      : `${count} alertas de otros sistemas están activas en este canal`,
  countOfMonitors: (count) => `Hay ${monitors(count, `${count}`)}`,
  countOfType: (type, count, total) =>
    `${count} de ${monitors(total, `${total}`)} ${count === 1 ? 'es' : 'son'} de tipo ${type}`,
  slowest: (name, time) => `${name} es el más lento, con ${time} en su última comprobación`,
  noTimes: 'No se conocen tiempos de respuesta.',
  latestChange: (name, status, since) => `El último cambio es de ${name}: ${status} ${since}`,
  noChanges: 'No se conocen cambios.',
  newest: (name, since) => `${name} es el más nuevo, vigilado ${since}`,
  noBegins: 'El servicio de monitorización no dice desde cuándo vigila.',
  statusSince: (name, status, since) => `${name} está ${status} ${since}`,
  status: (name, status) => `${name} está ${status}`,
  lastCheck: 'Última comprobación',
  flapping: 'es inestable: cae y vuelve todo el tiempo (flapping)',
  notFlapping: 'no es inestable (flapping)',
  stale: 'sin noticias desde hace un rato, así que puede no estar al día',
  waiting: 'espera su primer ping',
  checkedNow: 'comprobado ahora mismo',
  certificate: (name, time) => `El certificado de ${name} caduca el ${time}`,
  certificateEnded: (name, time) => `El certificado de ${name} caducó el ${time}`,
  noCertificate: (name) => `No se conoce ningún certificado de ${name}.`,
  interval: (name, duration) => `${name} se comprueba cada ${duration}.`,
  intervalOfJob: (name, duration) => `La tarea de ${name} debe avisar cada ${duration}.`,
  noInterval: (name) => `No se sabe cada cuánto se comprueba ${name}.`,
  uptime: (name, percent, span) => `${name} tuvo una disponibilidad de ${percent} ${span}`,
  unseen: (name, span) => `${name} no se vigiló ${span}, así que no se conoce su disponibilidad.`,
  uptimeOfAll: (count, percent, span) => `Disponibilidad ${span}: ${percent} en ${count}`,
  wholeDays: 'días enteros',
  allUnseen: (span) => `No se vigiló nada ${span}, así que no se conoce la disponibilidad.`,
  leastUptime: (name, percent, span) => `${name} tuvo la menor disponibilidad: ${percent} ${span}`,
  noneWasDown: (span) => `Ningún monitor estuvo caído ${span}`,
  wasDown: (name, duration, span) => `${name} estuvo caído ${duration} ${span}`,
  wasNotDown: (name, span) => `${name} no estuvo caído ${span}`,
  downFor: 'Caído',
  unseenFor: 'Sin vigilar',
  watchedFor: (length) => `vigilado durante ${length}`,
  ofIt: 'disponibilidad',
  failed: (count) => `${count} con fallo`,
  before: (percent, span) => `Antes, ${span}: ${percent}`,
  beforeUnseen: (span) => `Antes, ${span}: sin vigilar`,
  responseTime: (name, mean, span) => `${name} tardó ${mean} de media en responder ${span}`,
  noResponseTime: (name, span) => `No se conocen tiempos de respuesta de ${name} ${span}.`,
  fastest: 'el más rápido',
  slowestTime: 'el más lento',
  responseTimes: 'Tiempo de respuesta, media',
  noIncidents: (of, span) => `Ningún incidente${of} ${span}`,
  foundIncidents: (count, of, span) => `${count}${of} ${span}`,
  of: (name) => ` de ${name}`,
  goesOn: 'continúa',
  longest: (name, duration, span) => `El incidente más largo ${span} fue de ${name}: ${duration}`,
  mostDown: (name, duration, span) => `${name} estuvo más tiempo caído ${span}: ${duration}`,
  mostIncidents: (name, count, span) => `${name} tuvo más incidentes ${span}: ${count}`,
  latestIncident: (name, time) => `El último incidente fue de ${name}, ${time}`,
  wentDown: (count, shown, span) =>
    count === 1
      ? `${shown} monitor estuvo caído ${span}`
      : `${shown} monitores estuvieron caídos ${span}`,
  onlyNewest: (count) => `Para esto solo se miraron los ${count} incidentes más recientes.`,
  onlyWorst: (count) => `Para esto solo se miraron los ${count} monitores con más tiempo caídos.`,
  checksOf: (name, count, failed) => `${count} de ${name}: ${failed}`,
  noChecks: (name) => `Todavía no se conocen comprobaciones de ${name}.`,
  lastChecked: (name, time) => `${name} se comprobó por última vez: ${time}`,
  passed: 'bien',
  failedOnce: 'con fallo',
  hears: (sentences) => `Para este canal está configurado: ${sentences}`,
  hearsEveryAlert: 'Además, quien opera Askwatch hace que este canal reciba todas las alertas.',
  waits: 'Todavía no ha cambiado nada. Se hará al confirmarlo abajo.',
  used: (answers, tokens, span) => `${answers} con ${tokens} ${span}`,
};
