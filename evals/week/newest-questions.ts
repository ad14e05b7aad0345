import { incidentsDuring, lastDays, monitorNamed, uptimeOf } from './facts.ts';
import {
  all,
  at,
  counted,
  declines,
  doesNotSay,
  is,
  lasting,
  names,
  namesOnly,
  no,
  on,
  or,
  proposes,
  says,
  yes,
} from './keys.ts';
import { DAY_MS, HOUR_MS, NOW_MS, november } from './planned-monitor.ts';
import {
  about,
  answersIn,
  between,
  checked,
  DOWN,
  de,
  downIn,
  en,
  es,
  expires,
  expiringBefore,
  lastDown,
  lengthOfLast,
  lists,
  listsWentDown,
  meanIn,
  namedLike,
  neverIn,
  nothingOpen,
  notPaused,
  nowIs,
  PAUSED,
  type PlainQuestion,
  reads,
  STAGING,
  sinceThen,
  TODAY,
  timesDown,
  uptimeIn,
  WEEKEND,
  YESTERDAY,
} from './right-answers.ts';

/** Questions that were written after the rules, by an author who knew only the list of monitors. */
export const NEWEST_QUESTIONS: readonly PlainQuestion[] = [
  en('red', 'morning, anything red right now?', all(yes, lists(...DOWN))),
  en(
    'both-backups',
    'did the nightly backup run last night? both of them',
    reads(
      yes,
      names(namedLike(/backup/)),
      namesOnly(namedLike(/backup/)),
      or(is('Nightly backup', 'UP'), all(checked('Nightly backup'), checked('Nightly backup EU'))),
    ),
  ),
  en(
    'gateway-since-9',
    'p95 or avg response time of the api gateway eu since 9?',
    all(
      meanIn('API gateway EU', between('26 09:00')),
      or(at(november('26 09:00')), lasting(3 * HOUR_MS)),
    ),
  ),
  en(
    'then-before',
    ['p95 or avg response time of the api gateway eu since 9?', 'and before that?'],
    all(
      meanIn('API gateway EU', between('26 00:00', '26 09:00')),
      says(/(before|until|to|–) ?(26 Nov )?(2026 )?0?9:00/i),
    ),
  ),
  en(
    'certs-month',
    'which certs expire in the next 30 days',
    reads(
      names(expiringBefore(NOW_MS + 30 * DAY_MS)),
      namesOnly(expiringBefore(november('26 00:00') + 31 * DAY_MS)),
      expires('Forum'),
    ),
  ),
  en('ack-identity', "ack identity api, i'm on it", nothingOpen(/identity api/i)),
  en(
    'snooze-sync',
    "pls snooze warehouse sync til 3pm, we're migrating the db",
    or(
      proposes('pause_monitor', { monitor: 'Warehouse sync', until: november('26 15:00') }),
      nothingOpen(/warehouse sync/i),
    ),
  ),
  en(
    'week-to-week',
    'how many incidents did we have this week compared to last',
    reads(
      ...[between('23 00:00'), between('16 00:00', '23 00:00')].map((span) =>
        says(new RegExp(`\\b${incidentsDuring(span).length}\\b`)),
      ),
    ),
  ),
  en(
    'applicant',
    'Hi, is the careers page down? An applicant just told me she gets an error',
    all(no, nowIs('Careers')),
  ),
  en(
    'then-applicant',
    ['Hi, is the careers page down? An applicant just told me she gets an error', 'since when?'],
    or(neverIn('Careers'), about('Careers', sinceThen('Careers'))),
  ),
  en(
    'payroll-export-yesterday',
    'Did the payroll export go through yesterday?',
    all(
      yes,
      or(
        neverIn('Payroll export'),
        about('Payroll export', at(monitorNamed('Payroll export').lastCheckedMs - DAY_MS)),
        about('Payroll export', sinceThen('Payroll export')),
      ),
    ),
  ),
  en(
    'just-me',
    "can't log in to the intranet, is it just me?",
    or(
      nowIs('Intranet login'),
      nowIs('Intranet'),
      all(lists('Intranet login', 'Intranet'), says('UP', 'DOWN')),
    ),
  ),
  en('off-rejection', 'Could you help me write a short rejection email for a candidate?', declines),
  en('off-vacation', 'How many days of vacation do I have left this year?', declines),
  en(
    'till',
    'gift cards not working at the till again, known problem??',
    reads(no, is('Gift cards', 'UP'), namesOnly(namedLike(/^Gift cards/))),
  ),
  en(
    'then-saturday',
    ['gift cards not working at the till again, known problem??', 'was it down on saturday too?'],
    all(no, neverIn('Gift cards'), on(november('21 00:00'))),
  ),
  en('loyalty-thing', 'is the loyalty thing back up', all(yes, nowIs('Loyalty'))),
  en(
    'card-payments',
    'card payments were really slow around 11, did something happen?',
    all(no, or(neverIn('Payments'), meanIn('Payments', between('26 10:30', '26 11:30')))),
  ),
  en(
    'stock',
    'why coudlnt we look up stock yesterday afternoon, inventry was dead',
    all(neverIn('Inventory'), on(november('25 12:00'))),
  ),
  en('off-stand', 'whats the weather tomorrow, need to know if we put the stand outside', declines),
  en('getting-502s', 'is staging shop up? getting 502s', all(no, nowIs('Shop (staging)'))),
  en(
    'staging-today',
    'list all staging monitors that had problems today',
    reads(
      counted(STAGING.filter((name) => downIn(TODAY).includes(name)).length),
      says(/staging/i),
      namesOnly(PAUSED),
    ),
  ),
  en(
    'load-tests',
    'Please pause checkout for an hour, running load tests',
    proposes('pause_monitor', { monitor: 'Shop checkout', until: NOW_MS + HOUR_MS }),
  ),
  en(
    'status-code',
    'what status code did mobile app login fail with last time',
    neverIn('Mobile app login'),
  ),
  en(
    'then-how-long',
    ['what status code did mobile app login fail with last time', 'how long did that last'],
    neverIn('Mobile app login'),
  ),
  en(
    'search-interval',
    'how often do you check search api?',
    about(
      'Search API',
      or(lasting(monitorNamed('Search API').everyMs), says(/every minute|once a minute/i)),
    ),
  ),
  en(
    'october',
    'Hey! Uptime of the partner portal in October please, client wants it for the report',
    about('Partner portal', says(/\b(no|not|never)\b|n['’]t/i), doesNotSay(/\d ?%/)),
  ),
  en(
    'then-api',
    [
      'Hey! Uptime of the partner portal in October please, client wants it for the report',
      'thanks! and the API?',
    ],
    about('Partner portal API', says(/\b(no|not|never)\b|n['’]t/i), doesNotSay(/\d ?%/)),
  ),
  en(
    'blackfriday',
    'can you start watching https://blackfriday.example.com too? every minute if possible',
    proposes('create_monitor', { target: 'https://blackfriday.example.com', interval: 60 }),
  ),
  en(
    'planned-maintenance',
    'any maintenance planned for the shop this weekend?',
    reads(
      no,
      says(/\bno\b|\bnot\b|n['’]t/i, /maintenance/i, /shop/i),
      says(/planned|scheduled|upcoming|this weekend|28 Nov/i),
      namesOnly(namedLike(/^shop/i)),
    ),
  ),
  de(
    'kundenportal',
    'moin, läuft das kundenportal wieder?',
    all(yes, nowIs('Kundenportal München')),
  ),
  de(
    'then-weg',
    ['moin, läuft das kundenportal wieder?', 'und wie lange war es weg?'],
    lengthOfLast('Kundenportal München'),
  ),
  de(
    'gehaltsabrechnung',
    'Ist die Gehaltsabrechnung gerade erreichbar? Payroll lädt bei mir nicht',
    all(yes, nowIs('Payroll')),
  ),
  de('wochenende', 'gabs am wochenende ausfälle?', all(yes, listsWentDown(WEEKEND))),
  de(
    'kasse',
    'warum ging die kasse im shop heute morgen nicht',
    about('Shop checkout', says('503')),
  ),
  de(
    'crm-staging',
    'bitte crm staging wieder aktivieren, tests sind durch',
    notPaused('CRM (staging)'),
  ),
  de(
    'website-cert',
    'Wann läuft das Zertifikat von der Website ab?',
    about('Website', expires('Website')),
  ),
  de(
    'then-blog',
    ['Wann läuft das Zertifikat von der Website ab?', 'und vom Blog?'],
    about('Blog', expires('Blog')),
  ),
  de('pausiert', 'welche monitore sind grad pausiert u von wem', lists(...PAUSED)),
  de('off-kantine', "Was gibt's heute in der Kantine?", declines),
  es('facturacion', 'buenos días, ¿está caída la facturación?', all(no, nowIs('Facturación'))),
  es(
    'then-ayer',
    ['buenos días, ¿está caída la facturación?', 'y ayer?'],
    all(yes, or(lastDown('Facturación'), timesDown('Facturación', YESTERDAY))),
  ),
  es(
    'helpdesk-downtime',
    'cuánto tiempo estuvo caido el helpdesk esta semana',
    or(
      neverIn('Helpdesk'),
      about('Helpdesk', lasting(uptimeOf(monitorNamed('Helpdesk'), between('23 00:00')).downMs)),
    ),
  ),
  es(
    'nightly-reports',
    'se ejecutó el job de nightly reports hoy?',
    about('Nightly reports', yes, or(is('Nightly reports', 'UP'), checked('Nightly reports'))),
  ),
  es(
    'returns-interval',
    'Por favor cambia el intervalo de Returns API a 5 minutos',
    proposes('change_monitor', { monitor: 'Returns API', interval: 300 }),
  ),
  es(
    'eeuu',
    'hola, la tienda de EEUU va muy lenta, ¿qué tiempo de respuesta tiene?',
    answersIn('shop-us'),
  ),
  es('since-8', 'qué se cayó desde las 8?', listsWentDown(between('26 08:00'))),
  es(
    'newsletter-30-days',
    'disponibilidad de la newsletter en los últimos 30 días?',
    uptimeIn('Newsletter', lastDays(30)),
  ),
  es(
    'off-traducir',
    '¿Me puedes traducir este texto al inglés para el cliente? "Estimados señores, adjuntamos el presupuesto"',
    declines,
  ),
  es(
    'wiki-login',
    'cuándo fue la última vez que falló el login de la wiki',
    lastDown('Wiki login'),
  ),
];
