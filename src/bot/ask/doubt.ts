import { unfoundedFigures } from './unfounded-figures.ts';
import { statesOf, unfoundedNames } from './unfounded-names.ts';

export const NOT_LOOKED_UP = 'Nothing was looked up for this answer.';

/** Questions about how something works, not about how it is. */
const GENERAL_QUESTION =
  /^\W*(?:what (?:does|do|is an?|is the (?:difference|meaning)|are)\b|explain|define|describe|how (?:do|does|can|to|would|should)\b|write|translate|was (?:bedeutet|bedeuten|ist ein)|erkl[aä]r|schreib|[uü]bersetz|wie (?:kann|funktioniert|mach)|qu[eé] (?:es un|significa)|explica|escribe|traduce|c[oó]mo (?:puedo|se|funciona))/i;

/** An answer that speaks of all services at once. */
const OF_ALL =
  /\b(?:nothing|none|no (?:\w+ )?(?:monitors?|services?|sites?|incidents?|outages?|alerts?)|everything|all (?:\w+ ){0,3}(?:monitors|services|sites|systems))\b.{0,40}\b(?:up|down|ok|okay|fine|operational|running|healthy|degraded|firing|today|yesterday|hours|days|week)\b|\b(?:nichts|kein \w+|alles|alle \w+)\b.{0,40}\b(?:ausgefallen|l[aä]uft|laufen|erreichbar|in ordnung|verf[uü]gbar)\b|\b(?:nada|ning[uú]n \w+|todo|todos \w+ \w+)\b.{0,40}\b(?:ca[ií]d[oa]s?|funciona\w*|en l[ií]nea|disponibles?)\b/i;

/** Words beside which a figure is one of a service. */
const OF_SERVICE =
  /uptime|downtime|availab|\bup\b|\bdown\b|outage|incident|degraded|respon|latency|verf[uü]gbar|ausf[aä]ll|ausgefallen|st[oö]rung|vorf[aä]ll|antwortzeit|disponib|ca[ií]d|incidente|respuesta/i;

/** What an answer was made from. */
interface Basis {
  question: string;
  /** What was said and sent before: it may be repeated. */
  said: readonly string[];
  /** Facts of the incident whose thread this is, which were looked up for it. */
  incident: string | undefined;
  /** What look-ups gave, and the same without those that failed. */
  given: readonly string[];
  found: readonly string[];
  /** The question may be about what is watched. */
  concernsWatching: boolean;
  /** Names of what is watched. */
  names: readonly string[];
}

/** What is to be said of a model's answer: what no look-up backs, or that none was made; nothing if all is well. Pure. */
export function doubtOf(text: string, basis: Basis): string | undefined {
  const { question, said, incident, given, found } = basis;
  const known = [question, ...said];
  const looked = [...found, ...(incident === undefined ? [] : [incident])];
  if (looked.length === 0) return isClaim(text, basis) ? NOT_LOOKED_UP : undefined;
  // A name in an error is what the model called it.
  const names = unfoundedNames(text, [...looked, ...known]);
  const figures = unfoundedFigures(text, [...looked, ...given, ...known]);
  const unbacked = [...names.map((name) => `“${name}”`), ...figures];
  if (unbacked.length === 0) return undefined;
  return `Not backed by any look-up: ${unbacked.join(', ')}. Verify before relying on it.`;
}

/** Whether an answer for which nothing was looked up says how something that is watched is, or was. */
function isClaim(text: string, { question, said, concernsWatching, names }: Basis): boolean {
  const named = (within: string) => {
    const lower = within.toLowerCase();
    return names.filter((name) => lower.includes(name.toLowerCase()));
  };
  const mentioned = named(text);
  const isRepeated = (name: string) => said.some((one) => statesOf(one, [name]).includes(name));
  const states = statesOf(text, mentioned).filter((name) => !isRepeated(name));
  if (states.some((name) => mentioned.includes(name))) return true;
  const isGeneral = GENERAL_QUESTION.test(question) && named(question).length === 0;
  if (!concernsWatching || isGeneral) return false;
  if (states.length > 0) return true;
  return text.split('\n').some((line) => {
    if (OF_ALL.test(line)) return true;
    const lower = line.toLowerCase();
    const isOfService =
      OF_SERVICE.test(line) || mentioned.some((name) => lower.includes(name.toLowerCase()));
    return isOfService && unfoundedFigures(line, [question, ...said]).length > 0;
  });
}
