import { unfoundedFigures } from './unfounded-figures.ts';
import { statesOf, unfoundedNames } from './unfounded-names.ts';

export const NOT_LOOKED_UP = 'Nothing was looked up for this answer.';

/** Questions about how things work in general, not about their state. */
const GENERAL_QUESTION =
  /^\W*(?:what (?:does|do|is an?|is the (?:difference|meaning)|are)\b|explain|define|describe|how (?:do|does|can|to|would|should)\b|write|translate|was (?:bedeutet|bedeuten|ist ein)|erkl[aä]r|schreib|[uü]bersetz|wie (?:kann|funktioniert|mach)|qu[eé] (?:es un|significa)|explica|escribe|traduce|c[oó]mo (?:puedo|se|funciona))/i;

/** Sentences about all services at once. */
const OF_ALL =
  /\b(?:nothing|none|no (?:\w+ )?(?:monitors?|services?|sites?|incidents?|outages?|alerts?)|everything|all (?:\w+ ){0,3}(?:monitors|services|sites|systems))\b.{0,40}\b(?:up|down|ok|okay|fine|operational|running|healthy|degraded|firing|today|yesterday|hours|days|week)\b|\b(?:nichts|kein \w+|alles|alle \w+)\b.{0,40}\b(?:ausgefallen|l[aä]uft|laufen|erreichbar|in ordnung|verf[uü]gbar)\b|\b(?:nada|ning[uú]n \w+|todo|todos \w+ \w+)\b.{0,40}\b(?:ca[ií]d[oa]s?|funciona\w*|en l[ií]nea|disponibles?)\b/i;

/** Words that make a figure in the same line one of a service. */
const OF_SERVICE =
  /uptime|downtime|availab|\bup\b|\bdown\b|outage|incident|degraded|respon|latency|verf[uü]gbar|ausf[aä]ll|ausgefallen|st[oö]rung|vorf[aä]ll|antwortzeit|disponib|ca[ií]d|incidente|respuesta/i;

/** The sources of an answer. */
interface AnswerSources {
  question: string;
  /** Earlier turns, people's messages and files. An answer may repeat them. */
  quotable: readonly string[];
  /** Facts of the thread's incident, which count as a look-up. */
  incident: string | undefined;
  /** Results of all look-ups. */
  results: readonly string[];
  /** Results of successful look-ups. */
  found: readonly string[];
  /** True if the question may be about monitors. */
  concernsWatching: boolean;
  /** Names of monitors. */
  names: readonly string[];
}

/** A note on a model's answer that names statements without a source, or says that nothing was looked up. Pure. */
export function doubtOf(text: string, sources: AnswerSources): string | undefined {
  const { question, quotable, incident, results, found } = sources;
  const lookups = [...found, ...(incident === undefined ? [] : [incident])];
  if (lookups.length === 0) return isClaim(text, sources) ? NOT_LOOKED_UP : undefined;
  const repeatable = [question, ...quotable];
  // Errors contain the name that the model guessed, so names must be in a successful look-up.
  const names = unfoundedNames(text, [...lookups, ...repeatable]);
  const figures = unfoundedFigures(text, [...lookups, ...results, ...repeatable]);
  const unbacked = [...names.map((name) => `“${name}”`), ...figures];
  if (unbacked.length === 0) return undefined;
  return `Not backed by any look-up: ${unbacked.join(', ')}. Verify before relying on it.`;
}

/** True if an answer without a look-up says how a monitor is or was. */
function isClaim(
  text: string,
  { question, quotable, concernsWatching, names }: AnswerSources,
): boolean {
  const mentioned = namesIn(text, names);
  const isRepeated = (name: string) => quotable.some((one) => statesOf(one, [name]).includes(name));
  const states = statesOf(text, mentioned).filter((name) => !isRepeated(name));
  if (states.some((name) => mentioned.includes(name))) return true;
  const isGeneral = GENERAL_QUESTION.test(question) && namesIn(question, names).length === 0;
  if (!concernsWatching || isGeneral) return false;
  if (states.length > 0) return true;
  return text.split('\n').some((line) => {
    if (OF_ALL.test(line)) return true;
    const isOfService = OF_SERVICE.test(line) || namesIn(line, mentioned).length > 0;
    return isOfService && unfoundedFigures(line, [question, ...quotable]).length > 0;
  });
}

function namesIn(text: string, names: readonly string[]): string[] {
  const lower = text.toLowerCase();
  return names.filter((name) => lower.includes(name.toLowerCase()));
}
