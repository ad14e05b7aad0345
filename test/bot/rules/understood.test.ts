import { expect, test } from 'vitest';
import { examples, understand } from '../../../src/bot/rules/rules.ts';
import { tools } from '../../../src/bot/tools/registry.ts';
import { checkToolInput } from '../../../src/bot/tools/run-tool.ts';

/** A Friday. */
const NOW_MS = Date.parse('2026-11-27T15:36:00Z');

type Row = [question: string, tool: string, input: object];

const ENGLISH: Row[] = [
  ['what is down?', 'list_monitors', { status: 'down', limit: 10 }],
  ["What's down right now, since when and why?", 'list_monitors', { status: 'down', limit: 10 }],
  ['hey, can you tell me please what is down', 'list_monitors', { status: 'down', limit: 10 }],
  ['is anything down?', 'list_monitors', { status: 'down', limit: 10 }],
  ['which monitors are down?', 'list_monitors', { status: 'down', limit: 10 }],
  ["list everything that's down", 'list_monitors', { status: 'down', limit: 10 }],
  ['how many monitors are down', 'list_monitors', { status: 'down', limit: 10 }],
  ['is everything ok?', 'list_monitors', { status: 'not_up', limit: 10 }],
  ['status', 'list_monitors', { status: 'not_up', limit: 10 }],
  ['what is degraded', 'list_monitors', { status: 'degraded', limit: 10 }],
  ['which monitors are paused?', 'list_monitors', { status: 'paused_or_maintenance', limit: 50 }],
  ['what is flapping?', 'list_monitors', { flapping: true, limit: 10 }],
  ['how many monitors are there?', 'list_monitors', { limit: 1 }],
  ['how many HTTP monitors are there?', 'list_monitors', { check_type: 'HTTP', limit: 1 }],
  ['list all monitors', 'list_monitors', { limit: 10 }],
  ['which monitor is the slowest?', 'list_monitors', { sort: 'slowest', limit: 50 }],
  ['Which monitors were added last?', 'list_monitors', { sort: 'newest', limit: 10 }],
  ['show the 5 slowest services', 'list_monitors', { sort: 'slowest', limit: 50 }],
  ['what changed recently?', 'list_monitors', { sort: 'latest_change', limit: 10 }],
  ['latest changes', 'list_monitors', { sort: 'latest_change', limit: 10 }],
  ['status of the Shop', 'get_monitor', { monitor: 'Shop' }],
  ['what\'s the status of "Login (EU)"?', 'get_monitor', { monitor: 'Login (EU)' }],
  ['is Shop up?', 'get_monitor', { monitor: 'Shop' }],
  ['Is the Payment API down right now?', 'get_monitor', { monitor: 'Payment API' }],
  ['why is Shop down?', 'get_monitor', { monitor: 'Shop' }],
  ['since when is Shop down?', 'get_monitor', { monitor: 'Shop' }],
  ['how long has Shop been down?', 'get_monitor', { monitor: 'Shop' }],
  ['Can you tell me if Shop is down?', 'get_monitor', { monitor: 'Shop' }],
  [
    'uptime of Shop last week',
    'get_uptime',
    { monitor: 'Shop', from: '2026-11-16', to: '2026-11-22' },
  ],
  ['uptime of Shop API in the last 24 hours', 'get_uptime', { monitor: 'Shop API', last: '24h' }],
  [
    'What was the uptime of the shop on 24 November?',
    'get_uptime',
    { monitor: 'shop', from: '2026-11-24', to: '2026-11-24' },
  ],
  [
    "Shop's uptime yesterday",
    'get_uptime',
    { monitor: 'Shop', from: '2026-11-26', to: '2026-11-26' },
  ],
  [
    'uptime between 20 November and 24 November',
    'get_uptime',
    { from: '2026-11-20', to: '2026-11-24', limit: 10 },
  ],
  ['overall uptime last month', 'get_uptime', { from: '2026-10-01', to: '2026-10-31', limit: 10 }],
  [
    'which monitor had the worst uptime this month',
    'get_uptime',
    { from: '2026-11-01', limit: 10 },
  ],
  [
    'how long was Shop down yesterday?',
    'get_uptime',
    { monitor: 'Shop', from: '2026-11-26', to: '2026-11-26' },
  ],
  ['response time of Shop last 7 days', 'get_uptime', { monitor: 'Shop', last: '7d' }],
  ['incidents today', 'list_incidents', { from: '2026-11-27', limit: 10 }],
  [
    'how many incidents last week?',
    'list_incidents',
    { from: '2026-11-16', to: '2026-11-22', limit: 10 },
  ],
  [
    'how many outages did Shop have since Monday?',
    'list_incidents',
    { monitor: 'Shop', from: '2026-11-23', limit: 10 },
  ],
  ['what was the longest outage in the last 7 days?', 'list_incidents', { last: '7d', limit: 100 }],
  [
    'which monitor had the most downtime last week',
    'list_incidents',
    { from: '2026-11-16', to: '2026-11-22', limit: 1 },
  ],
  [
    'which monitor had the most incidents this week',
    'list_incidents',
    { from: '2026-11-23', limit: 1 },
  ],
  ['when was Shop last down?', 'list_incidents', { monitor: 'Shop', last: '400d', limit: 1 }],
  [
    'what was down yesterday?',
    'list_incidents',
    { from: '2026-11-26', to: '2026-11-26', limit: 1 },
  ],
  [
    'was Shop down yesterday?',
    'list_incidents',
    { monitor: 'Shop', from: '2026-11-26', to: '2026-11-26', limit: 10 },
  ],
  ['last 5 checks of Shop', 'list_check_results', { monitor: 'Shop', limit: 5 }],
  ['check Shop now', 'check_monitor', { monitor: 'Shop' }],
  ['what does this channel hear?', 'get_channel_alerts', {}],
  ['who asked how much?', 'get_usage', {}],
  ['who asked the most in the last 7 days', 'get_usage', { days: 7 }],
  [
    'watch https://example.com every minute',
    'create_monitor',
    { target: 'https://example.com', interval_seconds: 60 },
  ],
  [
    'watch https://example.com/?q=1 every 30 seconds as Example Site',
    'create_monitor',
    { target: 'https://example.com/?q=1', name: 'Example Site', interval_seconds: 30 },
  ],
  ['pause the shop', 'pause_monitor', { monitor: 'shop' }],
  ['resume Shop DE', 'resume_monitor', { monitor: 'Shop DE' }],
  ['when does the certificate of Shop expire?', 'get_monitor', { monitor: 'Shop' }],
  ['how often is Shop checked?', 'get_monitor', { monitor: 'Shop' }],
  ['Anything broken?', 'list_monitors', { status: 'down', limit: 10 }],
  ["What's broken", 'list_monitors', { status: 'down', limit: 10 }],
  ['any outages right now?', 'list_monitors', { status: 'down', limit: 10 }],
  ["who's down", 'list_monitors', { status: 'down', limit: 10 }],
  ['which sites are offline at the moment', 'list_monitors', { status: 'down', limit: 10 }],
  ['which of our services are down right now?', 'list_monitors', { status: 'down', limit: 10 }],
  ['Are all systems up?', 'list_monitors', { status: 'not_up', limit: 10 }],
  ['everything up?', 'list_monitors', { status: 'not_up', limit: 10 }],
  ["what's the current status?", 'list_monitors', { status: 'not_up', limit: 10 }],
  ['give me an overview', 'list_monitors', { status: 'not_up', limit: 10 }],
  ["what's not working?", 'list_monitors', { status: 'not_up', limit: 10 }],
  ['is the checkout working?', 'get_monitor', { monitor: 'checkout' }],
  ['is shop-eu reachable?', 'get_monitor', { monitor: 'shop-eu' }],
  ['is https://shop.example.com/ up?', 'get_monitor', { monitor: 'https://shop.example.com/' }],
  ['What is the status of Payments EU right now?', 'get_monitor', { monitor: 'Payments EU' }],
  ['When did Intranet go down?', 'list_incidents', { monitor: 'Intranet', last: '400d', limit: 1 }],
  [
    'why did Docs fail on Tuesday?',
    'list_incidents',
    { monitor: 'Docs', from: '2026-11-24', to: '2026-11-24', limit: 10 },
  ],
  [
    'how long was Logistics down in the last 7 days?',
    'get_uptime',
    { monitor: 'Logistics', last: '7d' },
  ],
  [
    'how often was Chat down today?',
    'list_incidents',
    { monitor: 'Chat', from: '2026-11-27', limit: 10 },
  ],
  [
    'How many times has Chat gone down today?',
    'list_incidents',
    { monitor: 'Chat', from: '2026-11-27', limit: 10 },
  ],
  [
    'What was our uptime last month?',
    'get_uptime',
    { from: '2026-10-01', to: '2026-10-31', limit: 10 },
  ],
  [
    'show me the uptime of Video since Monday',
    'get_uptime',
    { monitor: 'Video', from: '2026-11-23' },
  ],
  ['uptime for Video this month', 'get_uptime', { monitor: 'Video', from: '2026-11-01' }],
  [
    "What's Video's availability this week?",
    'get_uptime',
    { monitor: 'Video', from: '2026-11-23' },
  ],
  ['outages this week', 'list_incidents', { from: '2026-11-23', limit: 10 }],
  [
    'show all incidents of Chat today',
    'list_incidents',
    { monitor: 'Chat', from: '2026-11-27', limit: 10 },
  ],
  [
    'did anything go down last week?',
    'list_incidents',
    { from: '2026-11-16', to: '2026-11-22', limit: 1 },
  ],
  [
    'were there any outages yesterday?',
    'list_incidents',
    { from: '2026-11-26', to: '2026-11-26', limit: 10 },
  ],
  [
    'did we have any incidents on 24 November?',
    'list_incidents',
    { from: '2026-11-24', to: '2026-11-24', limit: 10 },
  ],
  ['What was the last incident?', 'list_incidents', { last: '400d', limit: 1 }],
  ['last outage of Docs', 'list_incidents', { monitor: 'Docs', last: '400d', limit: 1 }],
  [
    'which monitor had the lowest availability in the last 30 days?',
    'get_uptime',
    { last: '30d', limit: 10 },
  ],
  [
    'which monitors were down on Tuesday?',
    'list_incidents',
    { from: '2026-11-24', to: '2026-11-24', limit: 1 },
  ],
  ['recent checks of Shop', 'list_check_results', { monitor: 'Shop', limit: 10 }],
  ['show the last 3 check results for Shop', 'list_check_results', { monitor: 'Shop', limit: 3 }],
  ['test Shop again', 'check_monitor', { monitor: 'Shop' }],
  ['what alerts does this channel get?', 'get_channel_alerts', {}],
  ['who used the bot the most?', 'get_usage', {}],
  [
    'monitor example.com every 5 minutes',
    'create_monitor',
    { target: 'example.com', interval_seconds: 300 },
  ],
  [
    'please add a monitor for https://example.com called Example',
    'create_monitor',
    { target: 'https://example.com', name: 'Example' },
  ],
  ['keep an eye on https://example.com', 'create_monitor', { target: 'https://example.com' }],
  ['pause monitor Shop', 'pause_monitor', { monitor: 'Shop' }],
  ['unpause "Shop (staging)"', 'resume_monitor', { monitor: 'Shop (staging)' }],
  ['when was Shop last checked', 'list_check_results', { monitor: 'Shop', limit: 1 }],
  ['what is the response time of Shop?', 'get_uptime', { monitor: 'Shop' }],
  ['Which services are degraded right now?', 'list_monitors', { status: 'degraded', limit: 10 }],
  ['are any monitors flapping', 'list_monitors', { flapping: true, limit: 10 }],
  ['How many monitors do we have?', 'list_monitors', { limit: 1 }],
  ['what do you monitor?', 'list_monitors', { limit: 10 }],
];

const GERMAN: Row[] = [
  ['was ist ausgefallen?', 'list_monitors', { status: 'down', limit: 10 }],
  ['Was ist gerade down, seit wann und warum?', 'list_monitors', { status: 'down', limit: 10 }],
  ['kannst du mir sagen, was down ist?', 'list_monitors', { status: 'down', limit: 10 }],
  ['Läuft der Shop?', 'get_monitor', { monitor: 'Shop' }],
  ['laeuft der Shop', 'get_monitor', { monitor: 'Shop' }],
  ['Ist alles in Ordnung?', 'list_monitors', { status: 'not_up', limit: 10 }],
  ['wie viele Monitore gibt es?', 'list_monitors', { limit: 1 }],
  ['Status vom Shop', 'get_monitor', { monitor: 'Shop' }],
  ['Warum ist der Shop down?', 'get_monitor', { monitor: 'Shop' }],
  ['Seit wann ist der Shop ausgefallen?', 'get_monitor', { monitor: 'Shop' }],
  [
    'Verfügbarkeit von Shop letzte Woche',
    'get_uptime',
    { monitor: 'Shop', from: '2026-11-16', to: '2026-11-22' },
  ],
  ['verfuegbarkeit von Shop in den letzten 7 Tagen', 'get_uptime', { monitor: 'Shop', last: '7d' }],
  [
    'Wie war gestern die Verfügbarkeit vom Shop?',
    'get_uptime',
    { monitor: 'Shop', from: '2026-11-26', to: '2026-11-26' },
  ],
  ['Wie viele Vorfälle gab es heute?', 'list_incidents', { from: '2026-11-27', limit: 10 }],
  [
    'Welche Ausfälle gab es am 24. November?',
    'list_incidents',
    { from: '2026-11-24', to: '2026-11-24', limit: 10 },
  ],
  [
    'Was war gestern ausgefallen?',
    'list_incidents',
    { from: '2026-11-26', to: '2026-11-26', limit: 1 },
  ],
  ['Welcher Monitor ist am langsamsten?', 'list_monitors', { sort: 'slowest', limit: 50 }],
  ['Welcher Monitor wurde zuletzt angelegt?', 'list_monitors', { sort: 'newest', limit: 10 }],
  [
    'Welche Monitore sind pausiert?',
    'list_monitors',
    { status: 'paused_or_maintenance', limit: 50 },
  ],
  ['was flappt?', 'list_monitors', { flapping: true, limit: 10 }],
  ['längster Ausfall diese Woche', 'list_incidents', { from: '2026-11-23', limit: 100 }],
  [
    'Welcher Monitor hatte letzte Woche die meisten Ausfälle?',
    'list_incidents',
    { from: '2026-11-16', to: '2026-11-22', limit: 1 },
  ],
  [
    'Wann war der Shop zuletzt down?',
    'list_incidents',
    { monitor: 'Shop', last: '400d', limit: 1 },
  ],
  ['Die letzten 5 Prüfungen von Shop', 'list_check_results', { monitor: 'Shop', limit: 5 }],
  ['prüfe Shop jetzt', 'check_monitor', { monitor: 'Shop' }],
  ['Was hört dieser Kanal?', 'get_channel_alerts', {}],
  ['Wer hat wie viel gefragt?', 'get_usage', {}],
  [
    'überwache https://example.com jede Minute',
    'create_monitor',
    { target: 'https://example.com', interval_seconds: 60 },
  ],
  ['pausiere den Shop', 'pause_monitor', { monitor: 'Shop' }],
  ['setze den Shop fort', 'resume_monitor', { monitor: 'Shop' }],
  [
    'Vorfälle zwischen dem 20. und dem 24. November',
    'list_incidents',
    { from: '2026-11-20', to: '2026-11-24', limit: 10 },
  ],
  [
    'Vorfälle vom 20.11. bis 24.11.',
    'list_incidents',
    { from: '2026-11-20', to: '2026-11-24', limit: 10 },
  ],
  ['Ist was down?', 'list_monitors', { status: 'down', limit: 10 }],
  ['ist irgendwas kaputt?', 'list_monitors', { status: 'down', limit: 10 }],
  ['Sind alle Dienste erreichbar?', 'list_monitors', { status: 'not_up', limit: 10 }],
  ['Was geht nicht?', 'list_monitors', { status: 'down', limit: 10 }],
  ['Welche Dienste sind gerade nicht erreichbar?', 'list_monitors', { status: 'down', limit: 10 }],
  ['Wie ist der Status vom Shop?', 'get_monitor', { monitor: 'Shop' }],
  ['Ist der Shop erreichbar?', 'get_monitor', { monitor: 'Shop' }],
  ['Weißt du, ob der Shop läuft?', 'get_monitor', { monitor: 'Shop' }],
  ['Seit wann ist Intranet down und warum?', 'get_monitor', { monitor: 'Intranet' }],
  ['Wie lange ist das Intranet schon down?', 'get_monitor', { monitor: 'Intranet' }],
  [
    'Wie lange war Logistics gestern down?',
    'get_uptime',
    { monitor: 'Logistics', from: '2026-11-26', to: '2026-11-26' },
  ],
  [
    'Wie oft war Chat heute down?',
    'list_incidents',
    { monitor: 'Chat', from: '2026-11-27', limit: 10 },
  ],
  ['Zeig mir die Vorfälle von heute', 'list_incidents', { from: '2026-11-27', limit: 10 }],
  [
    'Gab es gestern Ausfälle?',
    'list_incidents',
    { from: '2026-11-26', to: '2026-11-26', limit: 10 },
  ],
  [
    'Gab es letzte Woche irgendwelche Störungen?',
    'list_incidents',
    { from: '2026-11-16', to: '2026-11-22', limit: 10 },
  ],
  [
    'Wie viele Störungen hatte der Shop diese Woche?',
    'list_incidents',
    { monitor: 'Shop', from: '2026-11-23', limit: 10 },
  ],
  ['Was war der letzte Vorfall?', 'list_incidents', { last: '400d', limit: 1 }],
  ['Wann ist Docs ausgefallen?', 'list_incidents', { monitor: 'Docs', last: '400d', limit: 1 }],
  [
    'Warum war Docs am Dienstag down?',
    'list_incidents',
    { monitor: 'Docs', from: '2026-11-24', to: '2026-11-24', limit: 10 },
  ],
  [
    'Wie hoch war die Verfügbarkeit von Video diese Woche?',
    'get_uptime',
    { monitor: 'Video', from: '2026-11-23' },
  ],
  ['Uptime von Video seit Montag', 'get_uptime', { monitor: 'Video', from: '2026-11-23' }],
  ['Zeig mir die letzten 3 Checks von Shop', 'list_check_results', { monitor: 'Shop', limit: 3 }],
  ['Checke Shop nochmal', 'check_monitor', { monitor: 'Shop' }],
  ['Welche Alarme bekommt dieser Kanal?', 'get_channel_alerts', {}],
  ['Pausiere Shop bitte', 'pause_monitor', { monitor: 'Shop' }],
  ['Wie oft wird Shop geprüft?', 'get_monitor', { monitor: 'Shop' }],
  ['Wann läuft das Zertifikat von Forum ab?', 'get_monitor', { monitor: 'Forum' }],
  ['Was überwachst du?', 'list_monitors', { limit: 10 }],
  ['Liste alle Monitore auf', 'list_monitors', { limit: 10 }],
];

const SPANISH: Row[] = [
  ['¿Qué está caído?', 'list_monitors', { status: 'down', limit: 10 }],
  [
    '¿Me puedes decir qué está caído, desde cuándo y por qué?',
    'list_monitors',
    { status: 'down', limit: 10 },
  ],
  ['¿Está todo bien?', 'list_monitors', { status: 'not_up', limit: 10 }],
  ['¿Está caída la tienda?', 'get_monitor', { monitor: 'tienda' }],
  ['estado de la tienda', 'get_monitor', { monitor: 'tienda' }],
  ['¿Por qué está caído Shop?', 'get_monitor', { monitor: 'Shop' }],
  ['¿Desde cuándo está caído Shop?', 'get_monitor', { monitor: 'Shop' }],
  [
    'disponibilidad de Shop la semana pasada',
    'get_uptime',
    { monitor: 'Shop', from: '2026-11-16', to: '2026-11-22' },
  ],
  [
    '¿Cuál fue la disponibilidad de Shop en los últimos 7 días?',
    'get_uptime',
    { monitor: 'Shop', last: '7d' },
  ],
  [
    '¿Cuántos incidentes hubo ayer?',
    'list_incidents',
    { from: '2026-11-26', to: '2026-11-26', limit: 10 },
  ],
  [
    'incidentes del 20 al 24 de noviembre',
    'list_incidents',
    { from: '2026-11-20', to: '2026-11-24', limit: 10 },
  ],
  [
    '¿Cuál fue la caída más larga esta semana?',
    'list_incidents',
    { from: '2026-11-23', limit: 100 },
  ],
  ['¿Qué monitor es el más lento?', 'list_monitors', { sort: 'slowest', limit: 50 }],
  ['¿Cuántos monitores hay?', 'list_monitors', { limit: 1 }],
  [
    '¿Qué monitores están en pausa?',
    'list_monitors',
    { status: 'paused_or_maintenance', limit: 50 },
  ],
  ['últimas 5 comprobaciones de Shop', 'list_check_results', { monitor: 'Shop', limit: 5 }],
  ['comprueba Shop ahora', 'check_monitor', { monitor: 'Shop' }],
  [
    'vigila https://example.com cada minuto',
    'create_monitor',
    { target: 'https://example.com', interval_seconds: 60 },
  ],
  ['pausa la tienda', 'pause_monitor', { monitor: 'tienda' }],
  ['reanuda la tienda', 'resume_monitor', { monitor: 'tienda' }],
  ['¿Qué oye este canal?', 'get_channel_alerts', {}],
  ['¿Quién preguntó cuánto?', 'get_usage', {}],
  ['¿Qué cambió recientemente?', 'list_monitors', { sort: 'latest_change', limit: 10 }],
  [
    'incidentes el 24 de noviembre',
    'list_incidents',
    { from: '2026-11-24', to: '2026-11-24', limit: 10 },
  ],
  [
    '¿cuándo se cayó Shop por última vez?',
    'list_incidents',
    { monitor: 'Shop', last: '400d', limit: 1 },
  ],
  ['¿Hay algo caído?', 'list_monitors', { status: 'down', limit: 10 }],
  ['¿Qué no funciona?', 'list_monitors', { status: 'not_up', limit: 10 }],
  ['¿Hay incidentes ahora?', 'list_monitors', { status: 'down', limit: 10 }],
  ['¿Funciona Shop?', 'get_monitor', { monitor: 'Shop' }],
  ['¿Está funcionando Shop?', 'get_monitor', { monitor: 'Shop' }],
  ['¿Cuál es el estado de Shop?', 'get_monitor', { monitor: 'Shop' }],
  ['¿Desde cuándo está caído Intranet y por qué?', 'get_monitor', { monitor: 'Intranet' }],
  ['¿Cuánto tiempo lleva caído Intranet?', 'get_monitor', { monitor: 'Intranet' }],
  [
    '¿Cuánto tiempo estuvo caído Logistics ayer?',
    'get_uptime',
    { monitor: 'Logistics', from: '2026-11-26', to: '2026-11-26' },
  ],
  [
    '¿Cuántas veces se cayó Chat hoy?',
    'list_incidents',
    { monitor: 'Chat', from: '2026-11-27', limit: 10 },
  ],
  ['¿Hubo caídas ayer?', 'list_incidents', { from: '2026-11-26', to: '2026-11-26', limit: 10 }],
  ['muéstrame los incidentes de hoy', 'list_incidents', { from: '2026-11-27', limit: 10 }],
  ['¿Cuál fue el último incidente?', 'list_incidents', { last: '400d', limit: 1 }],
  [
    '¿Por qué se cayó Docs el martes?',
    'list_incidents',
    { monitor: 'Docs', from: '2026-11-24', to: '2026-11-24', limit: 10 },
  ],
  [
    '¿Qué disponibilidad tuvo Video esta semana?',
    'get_uptime',
    { monitor: 'Video', from: '2026-11-23' },
  ],
  [
    '¿Qué monitor tuvo la peor disponibilidad este mes?',
    'get_uptime',
    { from: '2026-11-01', limit: 10 },
  ],
  ['¿Cuáles son los 5 monitores más lentos?', 'list_monitors', { sort: 'slowest', limit: 50 }],
  ['Comprueba Shop otra vez, por favor', 'check_monitor', { monitor: 'Shop' }],
  ['¿Qué alertas recibe este canal?', 'get_channel_alerts', {}],
  [
    'Vigila https://example.com cada 5 minutos, por favor',
    'create_monitor',
    { target: 'https://example.com', interval_seconds: 300 },
  ],
  ['Pausa Shop', 'pause_monitor', { monitor: 'Shop' }],
  ['¿Cuándo caduca el certificado de Forum?', 'get_monitor', { monitor: 'Forum' }],
  ['¿Qué vigilas?', 'list_monitors', { limit: 10 }],
  ['lista todos los monitores', 'list_monitors', { limit: 10 }],
];

const understood = (question: string) => {
  const { tool, input } = understand(question, NOW_MS) ?? {};
  return { tool, input };
};

test.each([...ENGLISH, ...GERMAN, ...SPANISH])('understands “%s”', (question, tool, input) => {
  expect(understood(question)).toEqual({ tool, input });
});

test('at least 20 questions of each language are tried', () => {
  for (const rows of [ENGLISH, GERMAN, SPANISH]) expect(rows.length).toBeGreaterThanOrEqual(20);
});

test('every input is one that its tool takes', () => {
  for (const [question] of [...ENGLISH, ...GERMAN, ...SPANISH]) {
    const { tool: name, input } = understood(question);
    const tool = tools.find((one) => one.name === name);
    if (!tool) throw new Error(`There is no tool ${name}.`);
    expect(checkToolInput(tool, input)).toEqual(input);
  }
});

test('letter case, accents, white space and marks at the ends are no meaning', () => {
  for (const [question, tool, input] of [
    ['  WHAT IS DOWN ?!', 'list_monitors', { status: 'down', limit: 10 }],
    ['what   is\n down', 'list_monitors', { status: 'down', limit: 10 }],
    ['que esta caido', 'list_monitors', { status: 'down', limit: 10 }],
    ['¡¿QUÉ ESTÁ CAÍDO?!', 'list_monitors', { status: 'down', limit: 10 }],
    ['LAEUFT DER SHOP?', 'get_monitor', { monitor: 'SHOP' }],
    ['läuft der Shop', 'get_monitor', { monitor: 'Shop' }],
    ['lauft der Shop', 'get_monitor', { monitor: 'Shop' }],
  ] as const) {
    expect(understood(question)).toEqual({ tool, input });
  }
});

test.each([
  ['status of the Shop monitor', 'Shop'],
  ['status of monitor Shop', 'Shop'],
  ['status of "The Shop, and more"', 'The Shop, and more'],
  ['status of “Docs search”', 'Docs search'],
  ["status of 'Docs search'", 'Docs search'],
  ['Status von „Suche und mehr“', 'Suche und mehr'],
  ['estado de «Facturación»', 'Facturación'],
  ['status of Shop (staging)?', 'Shop (staging)'],
  ['status of shop-eu', 'shop-eu'],
  ['status of Payments US', 'Payments US'],
  ['status of https://shop.example.com/a?b=c,d.', 'https://shop.example.com/a?b=c,d'],
  ["what is Macy's status", 'Macy'],
  ['status of Kundenportal München', 'Kundenportal München'],
  ['status of 日本語 サイト', '日本語 サイト'],
])('of “%s” the name is “%s”', (question, monitor) => {
  expect(understood(question)).toEqual({ tool: 'get_monitor', input: { monitor } });
});

test.each([
  ['today', { from: '2026-11-27' }],
  ['yesterday', { from: '2026-11-26', to: '2026-11-26' }],
  ['on Monday', { from: '2026-11-23', to: '2026-11-23' }],
  ['last Friday', { from: '2026-11-20', to: '2026-11-20' }],
  ['since Sunday', { from: '2026-11-22' }],
  ['on November 24th, 2026', { from: '2026-11-24', to: '2026-11-24' }],
  ['on 2026-11-24', { from: '2026-11-24', to: '2026-11-24' }],
  ['on 24 December', { from: '2025-12-24', to: '2025-12-24' }],
  ['from 20 to 24 November', { from: '2026-11-20', to: '2026-11-24' }],
  ['between Monday and Wednesday', { from: '2026-11-23', to: '2026-11-25' }],
  ['this week', { from: '2026-11-23' }],
  ['last week', { from: '2026-11-16', to: '2026-11-22' }],
  ['in the last week', { last: '7d' }],
  ['this month', { from: '2026-11-01' }],
  ['last month', { from: '2026-10-01', to: '2026-10-31' }],
  ['in the past month', { last: '30d' }],
  ['in the last three days', { last: '3d' }],
  ['in the last 90 minutes', { last: '90m' }],
  ['in the last 2 months', { from: '2026-09-27' }],
  ['since 9:30 UTC', { from: '2026-11-27T09:30:00.000Z' }],
])('in English “%s” is that time', (words, span) => {
  expect(understood(`incidents ${words}`).input).toEqual({ ...span, limit: 10 });
});

test.each([
  ['heute', { from: '2026-11-27' }],
  ['vorgestern', { from: '2026-11-25', to: '2026-11-25' }],
  ['am Montag', { from: '2026-11-23', to: '2026-11-23' }],
  ['letzten Freitag', { from: '2026-11-20', to: '2026-11-20' }],
  ['seit Sonntag', { from: '2026-11-22' }],
  ['am 3. März 2026', { from: '2026-03-03', to: '2026-03-03' }],
  ['am 3. Maerz', { from: '2026-03-03', to: '2026-03-03' }],
  ['am 24.11.', { from: '2026-11-24', to: '2026-11-24' }],
  ['am 24.11.2026', { from: '2026-11-24', to: '2026-11-24' }],
  ['vom 20. bis 24. November', { from: '2026-11-20', to: '2026-11-24' }],
  ['diese Woche', { from: '2026-11-23' }],
  ['letzte Woche', { from: '2026-11-16', to: '2026-11-22' }],
  ['im letzten Monat', { from: '2026-10-01', to: '2026-10-31' }],
  ['in den letzten drei Tagen', { last: '3d' }],
  ['seit 9:30 Uhr UTC', { from: '2026-11-27T09:30:00.000Z' }],
])('in German “%s” is that time', (words, span) => {
  expect(understood(`Vorfälle ${words}`).input).toEqual({ ...span, limit: 10 });
});

test.each([
  ['hoy', { from: '2026-11-27' }],
  ['anteayer', { from: '2026-11-25', to: '2026-11-25' }],
  ['el lunes', { from: '2026-11-23', to: '2026-11-23' }],
  ['el viernes pasado', { from: '2026-11-20', to: '2026-11-20' }],
  ['desde el domingo', { from: '2026-11-22' }],
  ['el 3 de marzo de 2026', { from: '2026-03-03', to: '2026-03-03' }],
  ['el 24/11', { from: '2026-11-24', to: '2026-11-24' }],
  ['entre el lunes y el miércoles', { from: '2026-11-23', to: '2026-11-25' }],
  ['esta semana', { from: '2026-11-23' }],
  ['la semana pasada', { from: '2026-11-16', to: '2026-11-22' }],
  ['en la última semana', { last: '7d' }],
  ['el mes pasado', { from: '2026-10-01', to: '2026-10-31' }],
  ['en los últimos tres días', { last: '3d' }],
])('in Spanish “%s” is that time', (words, span) => {
  expect(understood(`incidentes ${words}`).input).toEqual({ ...span, limit: 10 });
});

test('the examples of each language are in that language, and work', () => {
  expect(examples('what about the weather?')[0]).toMatch(/^What/);
  expect(examples('Wie wird das Wetter?')[0]).toMatch(/^Was/);
  expect(examples('¿Qué tiempo hace?')[0]).toMatch(/^¿Qué/);
  expect(examples('')[0]).toMatch(/^What/);
  for (const question of ['a', 'wie ist das', '¿qué?'].flatMap(examples)) {
    expect(understood(question).tool).toBeDefined();
  }
});
