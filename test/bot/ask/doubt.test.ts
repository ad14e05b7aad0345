import { expect, test } from 'vitest';
import { doubtOf, NOT_LOOKED_UP } from '../../../src/bot/ask/doubt.ts';
import { indexNames, mayConcernServices } from '../../../src/bot/rules/rules.ts';

const NAMES = ['Shop', 'Shop checkout', 'Blog', 'My service', 'db-1'];
const INDEX = indexNames(NAMES.map((name) => ({ id: name, name, kind: 'monitor' })));

function doubt(question: string, text: string, more: Partial<Parameters<typeof doubtOf>[1]> = {}) {
  const sources = {
    question,
    quotable: [],
    incident: undefined,
    results: [],
    found: [],
    names: NAMES,
  };
  return doubtOf(text, {
    ...sources,
    concernsWatching: mayConcernServices(question, INDEX),
    ...more,
  });
}

test.each([
  ['is Shop up?', 'Shop is UP.'],
  ['is Shop up?', 'Yes, the **Shop** has been up for 40 days.'],
  ['how is it?', 'Shop: DOWN since 09:15 UTC'],
  ['what is down?', 'Storefront is down.'],
  ['what is down?', 'Nothing is down right now.'],
  ['is everything ok?', 'Everything is fine, all services are operational.'],
  ['uptime of the shop last week?', 'Its uptime was 99.3 %.'],
  ['any incidents today?', 'There were two outages, the longest lasted 45 minutes.'],
  ['how fast is My service?', 'My service answers in 120 ms.'],
  ['Was ist ausgefallen?', '**Storefront** ist ausgefallen.'],
  ['Wie war die Verfügbarkeit gestern?', 'Die Verfügbarkeit war 99,3 %.'],
  ['Ist alles in Ordnung?', 'Ja, alles läuft.'],
  ['¿Qué está caído?', 'Nada está caído.'],
  ['Explain why Shop failed', 'Shop was down for 20 minutes because of DNS.'],
  ['tell me a joke', 'Blog is DOWN. That is no joke.'],
])('marks the answer to “%s”: %s', (question, text) => {
  expect(doubt(question, text)).toBe(NOT_LOOKED_UP);
});

test.each([
  ['why is the sky blue?', 'Blue light is scattered about 5.5 times as much as red.'],
  ['how long do eggs take?', 'Boil them for 7 minutes.'],
  ['what does 99.9 % uptime mean?', 'It is at most 43 minutes of downtime a month.'],
  ['How can I keep a service up?', 'Use two replicas: availability rises to 99.99 %.'],
  ['when was Rome founded?', 'In 753 BC; about 40 % of it was built in 200 years.'],
  ['explain this error: connection refused', 'Nothing listens there: the server is down.'],
  ['write a regex for times', 'Use `\\d\\d:\\d\\d`, which takes 09:15.'],
  ['is Shop up?', 'I could not look that up, so I do not know.'],
  ['is Storefront up?', 'There is no monitor called Storefront.'],
  ['watch https://example.com every 5 minutes', 'I cannot do that here.'],
  ['was bedeutet Verfügbarkeit?', 'Zum Beispiel 99,9 % im Monat, also 43 Minuten Ausfall.'],
  ['what did we decide yesterday?', 'That the release is on Tuesday at 10:00.'],
])('says nothing of the answer to “%s”: %s', (question, text) => {
  expect(doubt(question, text)).toBeUndefined();
});

test('earlier turns and the incident of the thread are sources', () => {
  const quotable = ['is Shop up?', 'Shop is UP, with 99.954 %.'];
  expect(doubt('so it was up?', 'Yes, Shop is UP, with 99.954 %.', { quotable })).toBeUndefined();
  const incident = 'Shop checkout is DOWN since 2026-11-26T11:48:00Z: 503';
  const inThread = (text: string) => doubt('why?', text, { incident });
  expect(inThread('Shop checkout is DOWN since 11:48: it answers 503.')).toBeUndefined();
  expect(inThread('Shop checkout is DOWN for 99.3 % of the day.')).toBe(
    'Not backed by any look-up: 99.3 %. Verify before relying on it.',
  );
});

test('names and figures without a source are listed', () => {
  const found = ['{"monitors":[{"name":"Shop","status":"UP"}]}'];
  const text = 'Storefront is down, with an uptime of 99.3 %. Shop is UP.';
  expect(doubt('what is down?', text, { found, results: found })).toBe(
    'Not backed by any look-up: “Storefront”, 99.3 %. Verify before relying on it.',
  );
});

test('a failed look-up does not count', () => {
  const results = ['{"error":"No monitor called “Nope”."}'];
  expect(doubt('is Nope up?', '**Nope** is up.', { results })).toBe(NOT_LOOKED_UP);
});
