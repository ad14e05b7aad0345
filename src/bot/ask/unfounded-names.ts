const MAX_NAMED = 5;

/** Limits of the work; longer lines are skipped. */
const MAX_READ = 20_000;
const MAX_LINE = 400;
const MAX_NAME = 80;

const STATUS =
  'UP|DOWN|DEGRADED|PAUSED|MAINTENANCE|up|down|paused|ausgefallen|pausiert|ca[ií]d[oa]';

const VERB = 'is|was|went|goes|has been|had been|ist|war|ging|está|estuvo';
const ADVERB =
  'currently|now|still|again|also|not|derzeit|jetzt|noch|wieder|auch|nicht|ahora|todavía|también|no';

/** A status right behind a name: after a verb, or in a cell of a table. */
const STATUS_BEHIND = new RegExp(
  `^[\\s*\`|:–—(-]{0,8}(?:${VERB})?\\s*(?:(?:${ADVERB})\\s+){0,2}[*\`(]{0,3}(?:${STATUS})(?![\\p{L}\\d])|\\|\\s*[*\`]{0,2}(?:${STATUS})[*\`]{0,2}\\s*\\|`,
  'u',
);
const ANY_STATUS = new RegExp(`(?<![\\p{L}\\d])(?:${STATUS})(?![\\p{L}\\d])`, 'u');

/** The head of a list item or table row: its emphasised part, or up to a colon, bar or dash. */
const ROW =
  /^\s{0,20}(?:[-*•|]|\d{1,3}\.)\s{1,4}(\*\*[^*]{1,80}\*\*|`[^`]{1,80}`|[^:|–—*`]{2,80}?(?=\s?(?::\s|\||–|—)))/u;

/** A subject with a verb and a status: `Storefront is down`. */
const PROSE = new RegExp(
  `(?<![\\p{L}\\d*\`-])(\\p{Lu}[\\p{L}\\d._-]{1,40}(?: (?:\\p{Lu}|\\d)[\\p{L}\\d._-]{0,40}){0,4}) (?:${VERB}) (?:(?:${ADVERB}) ){0,2}(?:${STATUS})(?![\\p{L}\\d]| (?:to|by|from|about|\\d))`,
  'gu',
);

/** Words that begin a sentence and aren't part of a name. */
const OPENING =
  /^(?:The|This|That|Our|Your|My|A|An|And|But|So|If|When|While|Because|Since|Der|Die|Das|Und|Aber|Wenn|Weil|El|La|Los|Las|Y|Pero|Si)\s+/;

/** Subjects that aren't names. */
const PRONOUN =
  /^(?:It|He|She|They|We|I|You|This|That|These|Those|There|Here|Which|What|Who|One|Some|Many|Most|Someone|Somebody|Nobody|Es|Er|Sie|Wir|Ich|Das|Dies|Hier|Was|Wer|Eine[rs]?|Man|Él|Ella|Esto|Eso|Qué|Quién|Uno)$/;

/** Emphasised text. */
const EMPHASISED = /\*\*([^*\n]{1,80})\*\*|`([^`\n]{1,80})`/g;

/** Labels of rows in three languages: they aren't names. */
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
/** Words that make a text a title or a time. */
export const GENERIC = new RegExp(
  `(?<!\\p{L})(?:${[
    'outages?|issues?|problems?|sites?|monitors?|services?|checks?|incidents?|groups?|all|everything|nothing|none|\\w+day|nov(?:ember)?|utc',
    'ausfälle?n?|störung(?:en)?|vorfälle?n?|monitore?n?|dienste?n?|alle[sn]?|nichts|\\w+tag',
    'incidentes?|ca[ií]das?|servicios?|monitores|tod[oa]s?|nada',
  ].join('|')})(?!\\p{L})`,
  'iu',
);

/** A suffix that distinguishes monitors of one name: `EU`, `2`. */
const SUFFIX = /^\s+((?!UP\b|DOWN\b|UTC\b|OK\b)[A-Z]{2,5}|\d{1,3})(?![\p{L}\d:.,%])/u;

/**
 * Names of monitors in an answer that aren't in its sources, as the answer writes them. A name is at the head of a row, emphasised,
 * or the capitalised subject of a sentence, and has a status right behind it. Pure.
 */
export function unfoundedNames(answer: string, sources: readonly string[]): string[] {
  const known = readable(sources.join('\n')).toLowerCase();
  const found = linesOf(answer)
    .flatMap(namesIn)
    .filter((name) => !known.includes(name.toLowerCase()));
  return [...new Set(found)].slice(0, MAX_NAMED);
}

/** Names with a status right behind them: any of `names`, and others in the place of a name. Pure. */
export function statesOf(answer: string, names: readonly string[]): string[] {
  return linesOf(answer).flatMap((line) => [
    ...namesIn(line),
    ...names.filter((name) => {
      const at = line.indexOf(name);
      return at !== -1 && hasStatusAt(line, at + name.length);
    }),
  ]);
}

/** Lines outside of code blocks. */
const linesOf = (answer: string) =>
  answer
    .slice(0, MAX_READ)
    .replace(/```[\s\S]*?(?:```|$)/g, '\n')
    .split('\n')
    .filter((line) => line.length <= MAX_LINE);

const hasStatusAt = (line: string, at: number) =>
  STATUS_BEHIND.test(line.slice(at, at + MAX_NAME).replace(/^\*{0,2}`?/, ''));

/** The names in a line, each with its suffix. */
function namesIn(line: string): string[] {
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
  const fromHeads = heads.flatMap(({ name, endsAt }) => {
    const plain = readable(name)
      .replace(/^[^\p{L}\d]+|[:.,…]+$/gu, '')
      .trim();
    const behind = line.slice(endsAt);
    const [all = '', suffix] = SUFFIX.exec(behind) ?? [];
    const hasStatus = STATUS_BEHIND.test(behind.slice(all.length));
    return hasStatus && isName(plain) ? [suffix ? `${plain} ${suffix}` : plain] : [];
  });
  return [...fromHeads, ...subjects];
}

const isName = (text: string) =>
  /\p{L}/u.test(text) &&
  !/^[\d\s]/.test(text) &&
  text.length <= MAX_NAME &&
  !ANY_STATUS.test(text) &&
  !LABEL.test(text) &&
  !GENERIC.test(text);

/** A text without markup and JSON's backslashes. */
const readable = (text: string) =>
  text
    .replace(/\\([^\w\s])/g, '$1')
    .replace(/\*\*|`/g, '')
    .replace(/\s+/g, ' ');
