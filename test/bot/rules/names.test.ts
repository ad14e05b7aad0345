import { expect, test } from 'vitest';
import { findNames, indexNames, type NamedSubject } from '../../../src/bot/rules/names.ts';
import { wordsIn } from '../../../src/bot/rules/words.ts';

const monitor = (name: string, target: string): NamedSubject => ({
  ...{ id: `id-of-${target}`, kind: 'monitor', name, target },
});

const SUBJECTS: NamedSubject[] = [
  monitor('checkout-api-staging', 'https://checkout.staging.example/'),
  monitor('Checkout API', 'https://checkout.example/health'),
  monitor('Payments (EU)', 'https://pay.example/eu'),
  monitor('Payments (US)', 'https://pay.example/us'),
  monitor('Gift cards EU', 'https://gifts.example/'),
  monitor('Nightly backup', 'heartbeat'),
  monitor('Weekly backup EU', 'weekly'),
  monitor('Kundenportal', 'https://kunden.example/'),
  monitor('Größenberatung', 'https://groessen.example/'),
  monitor('Grafana', 'https://metrics.example:3000/login'),
  monitor('auth', 'https://auth.internal.example/'),
  monitor('Mail', 'smtp.post.example:25'),
  monitor('Website', 'https://www.shop.example/'),
  monitor('My service', 'https://mine.example/'),
  monitor('Wiki', 'https://wiki.example/'),
  monitor('Wiki API', 'https://wiki.example/api'),
  monitor('Wiki DNS', 'wiki.example'),
  monitor('Service A', 'https://a.example/'),
  monitor('Service B', 'https://b.example/'),
  monitor('status.example', 'https://10.0.0.7/'),
  { id: 'alert-1', kind: 'alert', name: 'DiskFull db-1' },
];
const INDEX = indexNames(SUBJECTS);

function namesIn(question: string) {
  const { subjects, choices } = findNames(wordsIn(question), INDEX);
  const names = (all: readonly NamedSubject[]) => all.map(({ name }) => name).sort();
  return { subjects: names(subjects), choices: names(choices) };
}

const NAMED = `
  case, hyphens and spaces  Checkout API  is CHECKOUT api up? | is checkout-api up? | is checkoutapi up?
  brackets and marks  Payments (EU)  is Payments EU down? | is **Payments (EU)** up? | payments(eu) uptime
  joined and separate words  Gift cards EU  giftcards-eu status | gift-cards eu | giftcardseu status
  joined and separate words  Kundenportal  is kunden portal up?
  plural  Nightly backup  did the nightly backups run?
  singular  Payments (US)  uptime of payment us
  genitive  Grafana  is Grafana's certificate ok? | Läuft Grafanas Login? | Grafana’s uptime
  umlauts  Größenberatung  ist die Groessenberatung online? | ist die grössenberatung online?
  one typo  Grafana  is grafna up? | is grafanna up? | is garfana up? | is grapana up?
  two typos in twelve letters  Kundenportal  is Kudnenporttal up?
  another order  checkout-api-staging  is the staging checkout api up?
  another order  Checkout API  is the api of the checkout up?
  another order  Payments (US)  how are the US payments?
  an exact name beats a part  Checkout API  is checkout-api up? | is the Checkout API slow?
  the longer name  checkout-api-staging  is checkout-api-staging up?
  an address  Checkout API  is https://checkout.example/health up? | is checkout.example ok?
  a host  checkout-api-staging  is checkout.staging.example up?
  a host with or without port  Grafana  is metrics.example up? | is metrics.example:3000 up?
  a host without scheme  Mail  is smtp.post.example down?
  a host with a slash  Website  is www.shop.example/ up?
  a name that is a host, and an IP address  status.example  is status.example up? | is 10.0.0.7 up?
  common words  My service  is my service up?
  common words  Service A  why is Service A down? | how is service a doing
  a page of a host, and its name in the DNS  Wiki  is wiki.example up?
  “back up” is no backup  Payments (EU)  is payments EU back up?
  common words  Website  is the website up? | ¿funciona la web?
  behind a German pronoun  Grafana  können wir Grafana pausieren? | soll ich Grafana bestätigen?
  in another language  Nightly backup  ist das nächtliche Backup gelaufen? | ¿corrió el backup nocturno?
  in another language  Payments (US)  ¿cómo va pagos EEUU?
  an alert from another system  DiskFull db-1  why is diskfull on db-1 firing? | DiskFull`;

const rows = NAMED.trim()
  .split(/\n +/)
  .flatMap((row) => {
    const [kind = '', name = '', questions = ''] = row.split('  ');
    return questions.split(' | ').map((question) => [question, name, kind]);
  });

test.each(rows)('“%s” names only %s: %s', (question = '', name) => {
  expect(namesIn(question)).toEqual({ subjects: [name], choices: [] });
});

test.each([
  ['is grfna up?', 'two typos in five letters'],
  ['is Kudneporttl up?', 'three typos in twelve letters'],
  ['is ath up?', 'a typo in a short word'],
  ['is auht up?', 'two letters swapped in a short word'],
  ['is Grafting up?', 'another word'],
])('“%s” names nothing: %s', (question) => {
  expect(namesIn(question)).toEqual({ subjects: [], choices: [] });
});

test('a question may name several monitors, one of them within the name of the other', () => {
  const { subjects } = namesIn('is checkout-api ok, and checkout-api-staging, and Grafana?');
  expect(subjects).toEqual(['Checkout API', 'Grafana', 'checkout-api-staging']);
});

test.each([
  ['is Payments up?', ['Payments (EU)', 'Payments (US)']],
  ['is checkout up?', ['Checkout API', 'checkout-api-staging']],
  ['is pay.example up?', ['Payments (EU)', 'Payments (US)']],
])('“%s” has several equal matches, which are choices', (question, names) => {
  expect(namesIn(question)).toEqual({ subjects: [], choices: names });
});

test('monitors of one name are choices', () => {
  const twins = [monitor('Shop', 'https://one.example/'), monitor('Shop', 'https://two.example/')];
  expect(findNames(wordsIn('is Shop up?'), indexNames(twins)).choices).toEqual(twins);
});

test('a target counts only if no name was found', () => {
  expect(namesIn('is Grafana up, or only auth.internal.example?').subjects).toEqual(['Grafana']);
});

test.each([
  ...['which websites are down?', 'which website is down?', 'are all websites up?'],
  ...['how many websites are there?', 'which services are slow?', 'are my services ok?'],
  ...['list the websites', 'Welche Website ist down?', '¿Qué sitio web está caído?'],
  ...['is everything ok?', 'is anything on fire', 'what is up?', 'was ist los?'],
])('“%s” names no monitor', (question) => {
  expect(namesIn(question)).toEqual({ subjects: [], choices: [] });
});

test('an id names its monitor', () => {
  const index = indexNames([{ ...monitor('Shop', 'https://s.example/'), id: 'mon42' }]);
  expect(findNames(wordsIn('status of mon42'), index).subjects).toHaveLength(1);
});
