/** Names told at most; more say no more. */
const MAX_NAMED = 5;

/** An answer is read no further, and of its lines no more than that: both are bounded anyway. */
const MAX_READ = 20_000;
const MAX_LINE = 400;
const MAX_NAME = 80;

const STATUS =
  'UP|DOWN|DEGRADED|PAUSED|MAINTENANCE|up|down|paused|ausgefallen|pausiert|ca[ií]d[oa]';

const VERB = 'is|was|went|goes|has been|had been|ist|war|ging|está|estuvo';
const ADVERB =
  'currently|now|still|again|also|not|derzeit|jetzt|noch|wieder|auch|nicht|ahora|todavía|también|no';

/** What is said of a monitor right behind its name: a status, perhaps after a verb, or in a cell of a table's row. */
const SAID_OF_MONITOR = new RegExp(
  `^[\\s*\`|:–—(-]{0,8}(?:${VERB})?\\s*(?:(?:${ADVERB})\\s+){0,2}[*\`(]{0,3}(?:${STATUS})(?![\\p{L}\\d])|\\|\\s*[*\`]{0,2}(?:${STATUS})[*\`]{0,2}\\s*\\|`,
  'u',
);
const ANY_STATUS = new RegExp(`(?<![\\p{L}\\d])(?:${STATUS})(?![\\p{L}\\d])`, 'u');

/** The head of a row of a list or a table: emphasised, or up to what parts it from the rest. */
const ROW =
  /^\s{0,20}(?:[-*•|]|\d{1,3}\.)\s{1,4}(\*\*[^*]{1,80}\*\*|`[^`]{1,80}`|[^:|–—*`]{2,80}?(?=\s?(?::\s|\||–|—)))/u;

/** A subject in a sentence of prose with its verb and a status: `Storefront is down`. */
const PROSE = new RegExp(
  `(?<![\\p{L}\\d*\`-])(\\p{Lu}[\\p{L}\\d._-]{1,40}(?: (?:\\p{Lu}|\\d)[\\p{L}\\d._-]{0,40}){0,4}) (?:${VERB}) (?:(?:${ADVERB}) ){0,2}(?:${STATUS})(?![\\p{L}\\d]| (?:to|by|from|about|\\d))`,
  'gu',
);

/** What begins a sentence and is no part of a name. */
const OPENING =
  /^(?:The|This|That|Our|Your|My|A|An|And|But|So|If|When|While|Because|Since|Der|Die|Das|Und|Aber|Wenn|Weil|El|La|Los|Las|Y|Pero|Si)\s+/;

/** A subject that stands for what was named before, or for nothing. */
const PRONOUN =
  /^(?:It|He|She|They|We|I|You|This|That|These|Those|There|Here|Which|What|Who|One|Some|Many|Most|Someone|Somebody|Nobody|Es|Er|Sie|Wir|Ich|Das|Dies|Hier|Was|Wer|Eine[rs]?|Man|Él|Ella|Esto|Eso|Qué|Quién|Uno)$/;

/** What is emphasised within a sentence. */
const EMPHASISED = /\*\*([^*\n]{1,80})\*\*|`([^`\n]{1,80})`/g;

/** What stands there and is no name, in three languages: of what a row tells, or of more than one. */
export const LABEL = new RegExp(
  `^(?:${[
    'status|state|since|reasons?|causes?|target|uptime|availability|down(?:time)?|duration|began|started|ended|start|end',
    'from|to|total|type|kind|interval|note|when|why|what|which|result|summary|answer|certificate|response times?|average|mean',
    'min(?:imum)?|max(?:imum)?|up|degraded|paused|(?:in )?maintenance|flapping|others?|yesterday|today|now|currently|checked|last check',
    'name|first|last|next|then|after|before|not|no|yes|every|each|both|only|still|again|(?:the )?rest|in short|overall',
    'zustand|seit|grund|gründe|ursache|ziel|verfügbarkeit|dauer|beginn|ende|von|bis|gesamt|jetzt|derzeit|aktuell|gestern|heute',
    'zusammenfassung|antwort|name|nicht|kein(?:e[rns]?)?|ja|nein|jede[rs]?|beide|noch|wieder|übrige',
    'estado|desde|motivo|causa|destino|disponibilidad|duración|inicio|fin|hasta|ahora|actualmente|ayer|hoy|resumen|respuesta',
    'nombre|no|sí|ningun[oa]|ningún|cada|ambos|aún|todavía|resto',
  ].join('|')})(?!\\p{L})`,
  'iu',
);
/** What makes it a title, or a time. */
export const GENERIC = new RegExp(
  `(?<!\\p{L})(?:${[
    'outages?|issues?|problems?|sites?|monitors?|services?|checks?|incidents?|groups?|all|everything|nothing|none|\\w+day|nov(?:ember)?|utc',
    'ausfälle?n?|störung(?:en)?|vorfälle?n?|monitore?n?|dienste?n?|alle[sn]?|nichts|\\w+tag',
    'incidentes?|ca[ií]das?|servicios?|monitores|tod[oa]s?|nada',
  ].join('|')})(?!\\p{L})`,
  'iu',
);

/** What tells one monitor from another behind a name that they share: `EU`, `2`. */
const SUFFIX = /^\s+((?!UP\b|DOWN\b|UTC\b|OK\b)[A-Z]{2,5}|\d{1,3})(?![\p{L}\d:.,%])/u;

/**
 * Names in an answer that stand in nothing it was made from: what is said to be up or down right behind it, and stands as the name
 * of a monitor does: at the head of a row, emphasised, or with a capital as the subject of a sentence. They are given as they are
 * written there. Pure.
 *
 * @param sources what was looked up and said, as text
 */
export function unfoundedNames(answer: string, sources: readonly string[]): string[] {
  const ground = readable(sources.join('\n')).toLowerCase();
  const lines = answer
    .slice(0, MAX_READ)
    .replace(/```[\s\S]*?(?:```|$)/g, '\n')
    .split('\n')
    .filter((line) => line.length <= MAX_LINE);
  const found = lines.flatMap((line) => namedIn(line).filter((name) => !isIn(ground, name)));
  return [...new Set(found)].slice(0, MAX_NAMED);
}

/** Names of which a text says that they are up or down: any of these, and whatever stands there as a name does. Pure. */
export function statesOf(answer: string, names: readonly string[]): string[] {
  return answer
    .slice(0, MAX_READ)
    .replace(/```[\s\S]*?(?:```|$)/g, '\n')
    .split('\n')
    .filter((line) => line.length <= MAX_LINE)
    .flatMap((line) => [
      ...namedIn(line),
      ...names.filter((name) => {
        const at = line.indexOf(name);
        return at !== -1 && isSaidBehind(line, at + name.length);
      }),
    ]);
}

const isSaidBehind = (line: string, at: number) =>
  SAID_OF_MONITOR.test(line.slice(at, at + MAX_NAME).replace(/^\*{0,2}`?/, ''));

/** What a line names as it would a monitor, each with what tells it from another one behind it. */
function namedIn(line: string): string[] {
  const row = ROW.exec(line);
  const heads = [
    ...(row ? [{ name: row[1] ?? '', endsAt: row[0].length }] : []),
    ...[...line.matchAll(EMPHASISED)].map(({ 0: all, 1: bold, 2: code, index }) => ({
      name: bold ?? code ?? '',
      endsAt: index + all.length,
    })),
  ];
  const subjects = [...line.matchAll(PROSE)]
    .map(([, subject = '']) => subject.replace(OPENING, '').trim())
    .filter((subject) => isName(subject) && !PRONOUN.test(subject) && /^\p{Lu}/u.test(subject));
  const said = heads.flatMap(({ name, endsAt }) => {
    const plain = readable(name)
      .replace(/^[^\p{L}\d]+|[:.,…]+$/gu, '')
      .trim();
    const behind = line.slice(endsAt);
    const [all = '', suffix] = SUFFIX.exec(behind) ?? [];
    const isSaid = SAID_OF_MONITOR.test(behind.slice(all.length));
    return isSaid && isName(plain) ? [suffix ? `${plain} ${suffix}` : plain] : [];
  });
  return [...said, ...subjects];
}

const isName = (text: string) =>
  /\p{L}/u.test(text) &&
  !/^[\d\s]/.test(text) &&
  text.length <= MAX_NAME &&
  !ANY_STATUS.test(text) &&
  !LABEL.test(text) &&
  !GENERIC.test(text);

/** A text without what marks it up, and with what JSON writes of quotes as itself. */
const readable = (text: string) =>
  text
    .replace(/\\([^\w\s])/g, '$1')
    .replace(/\*\*|`/g, '')
    .replace(/\s+/g, ' ');

const isIn = (ground: string, name: string) => ground.includes(name.toLowerCase());
