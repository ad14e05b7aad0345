import { folded } from '../rules/words.ts';

const MAX_READ = 4_000;

/** Words about services, states, checks, alerts, changes, usage and times in English, German and Spanish, folded. */
const WATCHING = new RegExp(
  `^(?:${[
    'monitor\\w*|services?|servers?|sites?|websites?|systems?|hosts?|endpoints?|apis?|databases?|db|clusters?|prod|production|staging|deploy\\w*',
    'backups?|cron\\w*|jobs?|heartbeat\\w*|cert|certs|certificates?|tls|ssl|dns|ports?|ping\\w*|https?|tcp|status\\w*|states?|health\\w*',
    'up|down|offline|online|reach\\w*|unreach\\w*|avail\\w*|unavail\\w*|uptime|downtime|outages?|incidents?|alert\\w*|alarms?|fir(?:e|es|ed|ing)',
    'flap\\w*|degrad\\w*|br(?:oke|oken|eak|eaks|eaking)|fail\\w*|crash\\w*|errors?|slow\\w*|fast\\w*|laten\\w*|respon\\w*|time-?outs?|check\\w*',
    'watch\\w*|paus\\w*|resum\\w*|silenc\\w*|mut(?:e|ed|ing)|snooz\\w*|ack\\w*|maintenance|escalat\\w*|notif\\w*|remind\\w*|subscri\\w*|calls?',
    'reports?|postmortems?|caus\\w*|happen\\w*|chang\\w*|problems?|issues?|trouble\\w*|wrong|ok|okay|fine|stable|running|work|works|working',
    'intervals?|thresholds?|sla|slo|tokens?|usage|budgets?|used|asked|add|delete|remove|disable|enable|anything|everything|nothing|something',
    'now|currently|today|yesterday|tonight|tomorrow|since|until|last|latest|recent\\w*|hours?|minutes?|days?|weeks?|weekend|months?|night',
    '\\w*dienste?n?|seiten?|laeuft|lauft|laufen|lief|liefen|\\w*ausgefallen|\\w*ausf[ae]ll\\w*|storung\\w*|vorf[ae]ll\\w*|\\w*verfugbar\\w*|\\w*erreichbar\\w*',
    'langsam\\w*|schnell\\w*|antwortzeit\\w*|\\w*wartung\\w*|pausier\\w*|fortsetz\\w*|uberwach\\w*|beobacht\\w*|uberpruf\\w*|pruf\\w*|kaputt|fehler\\w*',
    'alarm\\w*|meld\\w*|benachricht\\w*|stumm\\w*|zustand|ursachen?|gestern|heute|morgen|woche\\w*|monat\\w*|stunden?|letzte\\w*|zuletzt|seit|jetzt',
    'gerade|derzeit|passiert|geandert\\w*|anderung\\w*|\\w*probleme?n?|alles|losch\\w*|entfern\\w*|zertifikat\\w*|beeintracht\\w*|bericht\\w*|verbrauch\\w*|flappt',
    'servicios?|sitios?|servidor\\w*|ca(?:id[oa]s?|yo|yeron|e|en)|disponib\\w*|incidentes?|fall\\w*|lent\\w*|rapid\\w*|respuestas?|mantenimiento|reanud\\w*',
    'vigil\\w*|comprueb\\w*|comprob\\w*|revis\\w*|avis\\w*|estado\\w*|linea|funciona\\w*|inestab\\w*|hoy|ayer|manana|semanas?|mes|meses|horas?|ultim\\w*',
    'reciente\\w*|ahora|desde|hasta|paso|cambi\\w*|problemas?|elimin\\w*|borr\\w*|quita\\w*|certificados?|informes?|gasto|uso',
  ].join('|')})$`,
  'u',
);

/** Words without a subject. A question of these alone may be about anything. */
const EMPTY = new Set(
  (
    'a an the this that these those it its he she they them his her their i me my mine we us our you your who whom whose what which when where why how ' +
    'is are was were be been am do does did done has have had will would shall should can could may might must not no yes and or but if then than as so ' +
    'of in on at to for from by with about into over under out off there here all any some each every one two more most much many very just also too again else same please ' +
    'der die das den dem des ein eine einen einem einer ist sind war waren sein wird werden wurde hat haben was wer wie wo wann warum welche welcher welches ' +
    'und oder nicht kein keine ich du er sie es wir ihr mir mich uns dir von vom zu zum zur im in am an auf fur mit bei aus nach uber bitte mal auch noch ' +
    'el la los las lo un una unos unas es son esta estan estaba fue ha hay que quien cual cuales como cuando donde cuanto cuantos por porque para con sin de ' +
    'del al y o no si me mi nos su sus se te tu favor'
  ).split(' '),
);

/** Empty words that several languages share: they don't tell the language. */
const SHARED = new Set('a de es in la me no on se si te tu un un una y'.split(' '));

/** Words that tell the language. */
const GENERAL = new Set(
  'hello hi hey thanks thank explain write translate define summarize summarise describe tell give make hallo danke erklare schreib schreibe ubersetze hola gracias explica escribe traduce'.split(
    ' ',
  ),
);

const ADDRESS = /https?:|\b[\w-]+\.[a-z]{2,}\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[45]\d\d\b|\b5xx\b/i;

const wordsIn = (text: string) =>
  folded(text.slice(0, MAX_READ))
    .split(/[^\p{L}\p{N}-]+/u)
    .flatMap((word) => (word.includes('-') ? [word, ...word.split('-')] : [word]))
    .filter((word) => word !== '');

/** Words of monitors' names. */
const nameWords = (names: readonly string[]) =>
  new Set(names.flatMap((name) => wordsIn(name).filter((word) => word.length > 2)));

/**
 * True if a text may be about monitors: it contains a word about services, an address, or a word of a monitor's name. Also true
 * for a text of empty words, such as “how is it?”, and for one in an unknown language. Pure.
 */
export function mayConcernWatching(text: string, names: readonly string[]): boolean {
  if (ADDRESS.test(text)) return true;
  const words = wordsIn(text);
  const known = nameWords(names);
  const subjects = words.filter((word) => !EMPTY.has(word));
  if (subjects.length === 0) return true;
  if (subjects.some((word) => WATCHING.test(word) || known.has(word))) return true;
  return !words.some((word) => (EMPTY.has(word) && !SHARED.has(word)) || GENERAL.has(word));
}

/** Two words with the same first letters count as one: `deploy`, `deployments`. */
const STEM = 5;
const stemsIn = (text: string) =>
  wordsIn(text.replaceAll('_', ' '))
    .filter((word) => word.length > 3 && !EMPTY.has(word))
    .map((word) => word.slice(0, STEM));

/** True if a question shares a word with the descriptions of tools. Pure. */
export function sharesWords(question: string, about: readonly string[]): boolean {
  const stems = new Set(about.flatMap(stemsIn));
  return stemsIn(question).some((stem) => stems.has(stem));
}
