import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Wordings that read as translated, each with a better one. */
const AVOID: [pattern: RegExp, write: string][] = [
  [
    /\b(?:is|are|was|were|be|been|being|gets?) told\b/i,
    'is sent, is posted, gets, sees: "This channel gets one message"',
  ],
  [/\b(?:tells?|telling|told|hears?|hearing|heard) of\b/i, 'reports, receives, gets alerts for'],
  [/\bhears? (?:no|its|every|all|only|them|those)\b/i, 'gets: "This channel gets every alert"'],
  [/\banew\b/i, 'again; "Reload the page", "Reconnect"'],
  [/\bwho(?:m)?ever\b/i, 'anyone who, the person who, "your Askwatch admin"'],
  [/\b(?:of|by|from|to) wh(?:ich|om)\b/i, 'two sentences, or repeat the noun'],
  [/\bthose (?:that|there|who|of|which)\b/i, 'the noun: "monitors that", "people who"'],
  [/\bthat of\b/i, 'the noun: "Shop’s last check"'],
  [/\b(?:it|that|this|which) goes on\b|\b(?:goes?|gone|went) on with\b/i, 'is ongoing, continues'],
  [/\bshown this once\b/i, 'shown only once'],
  [/\bmeans nothing here\b/i, 'Unknown field'],
  [/\btrouble of its own\b/i, 'the cause, quoted'],
  [
    /\b(?:calls|rings|tells) nobody\b|\bnobody is\b/i,
    'without a mention, no one, no alerts are sent',
  ],
  [
    /\bnothing is (?:done|heard|told|looked|changed yet)\b/i,
    'Nothing has changed yet; no alerts are sent',
  ],
  [/\blooked at\b|\blooked \d/i, 'checked, looked up, "Updated 1 second ago"'],
  [/\b(?:cannot|to) be had\b/i, "isn't available, can't be fetched"],
  [
    /\bis no (?:name|time|day|number|address|language|model|zone|file|word|list|key|token|[a-z]+ of)\b/i,
    "isn't a; isn't a valid",
  ],
  [
    /\bstands? (?:in\b(?! for)|there|below|under|beside|with|for itself|as it)\b/i,
    'is, appears, is listed in',
  ],
  [/\bas (?:if nothing|it stands)\b/i, 'unchanged'],
  [/\b(?:anything|something|somebody|nobody|nothing) (?:of|that) (?:it|them|is|was)\b/i, 'a noun'],
  [/\bgives? (?:it )?free\b/i, 'releases'],
  [/\bof its own accord\b/i, 'by itself'],
  [/\bbesides\b/i, 'also, next to'],
  [/\bmeanwhile(?=[.;!)]|$)/i, 'in the meantime'],
  [/\bwhen left out\b/i, 'default: …; If omitted, …'],
  [
    /\b(?:[Aa]lerts|[Mm]onitors|[Aa]nswers|[Mm]essages|[Tt]ools|[Ff]iles) of (?:[A-Z][a-z]+|others?|other (?:systems|people))\b/,
    'Alertmanager alerts, alerts from other systems',
  ],
];

/** Sentences that need such a wording, with the reason. */
const EXCEPTIONS: [part: string, reason: string][] = [
  ['besides uuid', 'a parameter of a stored function'],
  ['distinct from besides', 'the same parameter'],
];

const PAGES = ['', 'docs', 'bench', 'test', 'test/fixtures'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

const SOURCES = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join('src', name));

/** Each wording to avoid in a text, with the words around it and what to write instead. */
function findAwkward(text: string, file: string): string[] {
  return AVOID.flatMap(([pattern, write]) =>
    [...text.matchAll(new RegExp(pattern, `g${pattern.flags}`))]
      .map(({ index }) => text.slice(Math.max(0, index - 60), index + 90).replace(/\s+/g, ' '))
      .filter((around) => !EXCEPTIONS.some(([part]) => around.includes(part)))
      .map((around) => `${file}: “${around.trim()}” → ${write}`),
  );
}

/** Code without its comments: texts, markup and names. */
async function withoutComments(file: string): Promise<string> {
  const { code } = await transform(readFileSync(join(ROOT, file), 'utf8'), {
    loader: file.endsWith('x') ? 'tsx' : 'ts',
    jsx: 'preserve',
    minifyWhitespace: true,
    charset: 'utf8',
    legalComments: 'none',
  });
  return code;
}

const withoutFences = (text: string) => text.replace(/^ *```.*?^ *```$/gms, '');

test('no page of the documentation has a wording that reads as translated', () => {
  const awkward = PAGES.flatMap((page) =>
    findAwkward(withoutFences(readFileSync(join(ROOT, page), 'utf8')), page),
  );
  expect(awkward).toEqual([]);
});

test('no text of the program has a wording that reads as translated', async () => {
  const awkward = await Promise.all(
    SOURCES.map(async (file) => findAwkward(await withoutComments(file), file)),
  );
  expect(awkward.flat()).toEqual([]);
}, 30_000);

test.each([
  'Nobody is told of Shop until then.',
  'This channel hears its alerts.',
  'Load the page anew.',
  'Whoever runs Askwatch can look at the log.',
  'It goes on, for 3 minutes now.',
  'Looked at monitors that are down.',
  '“3am” is no time.',
  'Alerts of Alertmanager come here.',
  'What it is called; the host when left out',
])('finds the wording in “%s”', (sentence) => {
  expect(findAwkward(sentence, 'here')).not.toEqual([]);
});

test.each([
  'Alerts for Shop are off until someone resumes it.',
  'This channel gets alerts for every monitor.',
  'Your Askwatch admin can find the cause in the log.',
  'The console stands in for Slack and Discord.',
])('has nothing against “%s”', (sentence) => {
  expect(findAwkward(sentence, 'here')).toEqual([]);
});

test('every exception is still needed', async () => {
  const texts = [
    ...PAGES.map((page) => readFileSync(join(ROOT, page), 'utf8')),
    ...(await Promise.all(SOURCES.map(withoutComments))),
  ].join('\n');
  expect(EXCEPTIONS.filter(([part]) => !texts.includes(part))).toEqual([]);
});
