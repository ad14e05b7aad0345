import { expect, test } from 'vitest';
import { findIn, isAnswerable, mayConcernServices, TOPICS } from '../../../src/bot/rules/find.ts';
import { indexNames, type NamedSubject } from '../../../src/bot/rules/names.ts';
import { planAnswer, planFacts } from '../../../src/bot/rules/rules.ts';

const NAMES = ['Shop', 'Blog', 'Payments (EU)', 'Payments (US)', 'Nightly backup', 'Grafana'];
const INDEX = indexNames(
  NAMES.map((name, at): NamedSubject => {
    return { id: `m${at}`, kind: 'monitor', name, target: `https://host${at}.example/` };
  }),
);

const CLOCK = { nowMs: Date.parse('2026-11-27T15:36:00Z'), zone: 'UTC' };
const find = (question: string) => findIn(question, { index: INDEX, ...CLOCK });
const namesIn = (question: string) => find(question).subjects.map(({ name }) => name);

/** A row for each question of a row. */
const byQuestion = <T>(table: Array<[questions: string, expected: T]>) =>
  table.flatMap(([questions, expected]) =>
    questions.split(' | ').map((question): [string, T] => [question, expected]),
  );

test.each(
  byQuestion([
    ['is Shop up? | ist Shop online? | ¿está Shop en línea?', 'up of Shop'],
    ['is Shop down? | ist Shop ausgefallen? | ¿por qué está caído Shop?', 'down of Shop'],
    ['uptime of Blog? | Verfügbarkeit von Blog? | disponibilidad de Blog', 'uptime of Blog'],
    ['is Blog slow? | ist Blog langsam? | ¿está lento Blog?', 'slow of Blog'],
    ['did the nightly backup run? | lief das nightly backup?', 'run of Nightly backup'],
    ['when does the certificate of Shop expire?', 'certificate of Shop'],
    ['wann läuft das Zertifikat von Shop ab?', 'certificate of Shop'],
    ['¿cuándo caduca el certificado de Shop?', 'certificate of Shop'],
    ['incidents of Shop and Blog | Vorfälle von Shop und Blog', 'incident of Shop, Blog'],
    ['what is down? | was ist kaputt? | ¿qué está caído?', 'down'],
    ['is everything ok? | ist alles in Ordnung? | ¿está todo bien?', 'ok'],
    ['which monitors are paused? | welche Monitore sind pausiert?', 'paused'],
    ['what is in maintenance? | was ist in Wartung?', 'maintenance'],
    ['what keeps flapping? | welche Monitore flappen?', 'flapping'],
    ['slowest monitor | welcher Dienst ist am langsamsten?', 'slow'],
    ['newest monitors | neueste Monitore', 'newest'],
    ['who asked the most questions?', 'usage'],
  ]),
)('“%s” is about %s', (question, expected) => {
  const [topic, names = ''] = expected.split(' of ');
  const found = find(question);
  expect(namesIn(question).join(', ')).toBe(names);
  expect(TOPICS.filter((one) => found.concepts.has(one))).toContain(topic);
  expect(found.request).toBeUndefined();
  expect(isAnswerable(found)).toBe(true);
});

test.each(
  byQuestion<object>([
    ['the 5 slowest monitors | die 5 langsamsten Monitore', { count: 5 }],
    ['how many HTTP monitors are there? | wie viele HTTP Monitore gibt es?', { type: 'http' }],
    ['are the Payments monitors up?', { group: 'payments', subjects: [], choices: [] }],
    ['is new.example up?', { group: 'new.example' }],
    ['the second one | der zweite | la segunda', { picked: 1 }],
    ['what can you do? | was kannst du? | ¿qué puedes hacer?', { subjects: [] }],
    ['uptime of the Shop last week', { span: { fromMs: Date.parse('2026-11-16') } }],
    ['what do we monitor for Shop?', { group: 'shop', subjects: [], choices: [] }],
    ['which certificates expire within 2 weeks?', { aheadMs: 14 * 86_400_000 }],
  ]),
)('“%s” has %j', (question, expected) => {
  expect(find(question)).toMatchObject(expected);
});

const FOR_TWO_HOURS = { verb: 'pause', untilMs: Date.parse('2026-11-27T17:36:00Z') };
const UNTIL_NINE = { verb: 'pause', untilMs: Date.parse('2026-11-28T09:00:00Z') };
const EVERY_FIVE_MINUTES = { verb: 'set', intervalSeconds: 300 };
const RENAMED = { verb: 'rename', name: 'Store (EU)' };
const WATCHED = { verb: 'watch', target: 'https://new.example/?a=1' };

test.each(
  byQuestion<object>([
    ['pause Shop for 2 hours | pausiere Shop für 2 Stunden', FOR_TWO_HOURS],
    ['pause Shop until tomorrow 9:00 | pausiere Shop bis morgen 9 Uhr', UNTIL_NINE],
    ['pausa Shop hasta mañana a las 9:00', UNTIL_NINE],
    ['could you please pause Shop? | set Shop on hold', { verb: 'pause' }],
    ['resume Shop | reanuda Shop | aktiviere Shop', { verb: 'resume' }],
    ['mach Shop bitte wieder an | setz Shop fort, wir sind fertig', { verb: 'resume' }],
    ['schalte Shop bitte aus', { verb: 'pause' }],
    ["pause Shop for 2 hours, we're migrating", FOR_TWO_HOURS],
    [
      'set the interval of Shop to 5 minutes | pon el intervalo de Shop en 5 minutos',
      EVERY_FIVE_MINUTES,
    ],
    ['bitte https://new.example/?a=1 überwachen | watch https://new.example/?a=1 as well', WATCHED],
    ['mute Shop | silencia Shop', { verb: 'snooze' }],
    ['delete Shop | lösche Shop | elimina Shop', { verb: 'remove' }],
    ['ack Shop | bestätige Shop', { verb: 'acknowledge' }],
    [
      'check Shop now | will you check Shop, please? | prüfe Shop | comprueba Shop',
      { verb: 'test' },
    ],
    ['check Shop every 5 minutes | prüfe Shop alle 5 Minuten', EVERY_FIVE_MINUTES],
    ['rename Shop to Store (EU) | benenne Shop um in "Store (EU)"', RENAMED],
    ['watch https://new.example/?a=1 | überwache https://new.example/?a=1', WATCHED],
    ['vigila https://new.example/?a=1 como Uno', { ...WATCHED, name: 'Uno' }],
    ['add https://new.example/?a=1 every 30 seconds', { ...WATCHED, intervalSeconds: 30 }],
  ]),
)('“%s” requests %j', (question, request) => {
  const { nameAt: _, ...found } = find(question).request ?? {};
  expect(found).toEqual(request);
});

test('a new name isn’t looked for in the names of other monitors', () => {
  expect(namesIn('rename Shop to Blog')).toEqual(['Shop']);
});

test.each([
  ...['why did you pause Shop?', 'who paused Shop?', 'how often do you check Shop?', 'check all'],
  ...['wie schalte ich Shop aus?', 'was zeigt Shop gerade an?'],
  ...['was Shop paused?', 'when should we remove Shop?', 'watch Shop', 'pause the music'],
])('“%s” requests no change', (question) => {
  expect(find(question).request).toBeUndefined();
});

test.each([
  ['umm is Shop like really up rn??', 'up'],
  ['hey folks, quick question: is the poor Shop up', 'up'],
  ['good morning! kannst du mir bitte kurz sagen, ob Shop kaputt ist?', 'down'],
  ['hola, ¿me puedes decir si Shop está caído, por favor?', 'down'],
  ['Shop 😬😬 down???', 'down'],
] as const)('“%s” is answered although some words mean nothing', (question, topic) => {
  const found = find(question);
  expect(namesIn(question)).toEqual(['Shop']);
  expect(found.concepts).toContain(topic);
  expect(isAnswerable(found)).toBe(true);
});

const OFF_TOPIC = `
  what is the capital of France? | write a poem about servers | tell me a joke | what is an SLA?
  how do I renew a TLS certificate with certbot? | explain what a cluster is | how does DNS work?
  how do I restart a postgres database? | what does HTTP 503 mean? | define downtime
  is kubernetes better than docker swarm? | translate "the server is down" into French
  write a python script that checks a port | who won the football match yesterday?
  recommend a book about monitoring | summarize this article about outages | why is the sky blue?
  how can I make my site faster? | should we migrate our database to MySQL?
  what is the difference between TCP and UDP? | how do I install Grafana on Debian?
  did the payment for my invoice go through? | how many people work here? | wie war dein Wochenende?
  how many usable hosts are in a /27? | ok and when did it last run?
  my back is down, any physio tips? | write me a script that checks if the Shop is up
  when is the next public holiday? | can you book a meeting for Monday?
  Schreib ein Gedicht über Server | Was bedeutet HTTP 503? | Wie installiere ich nginx auf Debian?
  Erkläre den Unterschied zwischen TCP und UDP | ¿Cómo instalo nginx en Debian?
  Escribe un poema sobre servidores | Traduce "el servidor está caído" al alemán`;

test.each(OFF_TOPIC.trim().split(/ \| |\n +/))('“%s” isn’t answered from facts', (question) => {
  expect(isAnswerable(find(question))).toBe(false);
});

test.each(
  byQuestion([
    ['is anything broken? | Shop | https://a.example | pause it | ¿y ayer? | ???', true],
    ['tell me a joke | who is the president of Chile? | ¿Cuál es la capital de Francia?', false],
    ['which language should I learn? | Wie installiere ich nginx auf Debian?', false],
  ]),
)('“%s” may concern services: %s', (text, isOfServices) => {
  expect(mayConcernServices(text, INDEX)).toBe(isOfServices);
});

test.each(
  'turn off the alerts of Shop | remove the alarms for Shop | Schalt die Alarme für Shop aus'.split(
    ' | ',
  ),
)('“%s” snoozes, and neither pauses nor removes', (question) => {
  expect(find(question).request?.verb).toBe('snooze');
});

test('a name behind “without” is left out, and one behind “not” is not meant', () => {
  expect(find('what is down without the backup?')).toMatchObject({
    without: 'backup',
    subjects: [],
  });
  expect(namesIn('not the Blog, I meant Shop')).toEqual(['Shop']);
});

test('an alert from another system can be acknowledged and snoozed, but not changed', () => {
  const index = indexNames([{ id: 'alert:1', kind: 'alert', name: 'Queue' }]);
  const plan = (question: string) => planAnswer(findIn(question, { index, ...CLOCK }), CLOCK);
  expect(plan('ack Queue')).toHaveProperty('change.tool', 'acknowledge_incident');
  expect(plan('mute Queue')).toHaveProperty('change.tool', 'snooze_incident');
  for (const question of ['pause Queue', 'mute Queue for 2 hours', 'check Queue', 'remove Queue']) {
    expect(plan(question)).toMatchObject({ text: expect.stringMatching(/^That is an alert/) });
  }
});

test('a verb in a text about something else requests nothing, also with a model', () => {
  const found = find('write a poem that makes readers of the Blog pause');
  expect(planAnswer(found, CLOCK)).toBeUndefined();
  expect(planFacts(found, CLOCK)).not.toHaveProperty('change');
});
