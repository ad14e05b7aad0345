export const LANGUAGES = ['en', 'de', 'es'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Questions about the recorded week, in three languages. */
export const QUESTIONS = {
  down: {
    en: 'Hey, can you tell me what is down, since when and why?',
    de: 'Kannst du mir sagen, was gerade ausgefallen ist?',
    es: 'Hola, ¿me puedes decir qué está caído y por qué?',
  },
  count: {
    en: 'How many monitors are there?',
    de: 'Wie viele Monitore gibt es?',
    es: '¿Cuántos monitores hay?',
  },
  paused: {
    en: 'which monitors are paused?',
    de: 'Welche Monitore sind pausiert?',
    es: '¿Qué monitores están en pausa?',
  },
  maintenance: {
    en: 'what is in maintenance?',
    de: 'Was ist in Wartung?',
    es: '¿Qué está en mantenimiento?',
  },
  degraded: {
    en: 'Are any services degraded?',
    de: 'Welche Dienste sind beeinträchtigt?',
    es: '¿Qué servicios están degradados?',
  },
  flapping: {
    en: 'what is flapping?',
    de: 'Was flappt gerade?',
    es: '¿Qué monitores están inestables?',
  },
  slowest: {
    en: "What's the slowest monitor?",
    de: 'Welcher Monitor ist am langsamsten?',
    es: '¿Cuál es el monitor más lento?',
  },
  status: {
    en: 'Is Shop checkout up?',
    de: 'Läuft Shop checkout?',
    es: '¿Está Shop checkout en línea?',
  },
  cause: {
    en: 'why is the Intranet down',
    de: 'Warum ist das Intranet down?',
    es: '¿Por qué está caído Intranet?',
  },
  uptime: {
    en: 'uptime of Video in the last 7 days',
    de: 'Verfügbarkeit von Video in den letzten 7 Tagen',
    es: 'disponibilidad de Video en los últimos 7 días',
  },
  uptimeOfDay: {
    en: 'What was the uptime of Logistics on 22 November?',
    de: 'Wie war die Verfügbarkeit von Logistics am 22.11.?',
    es: '¿Cuál fue la disponibilidad de Logistics el 22 de noviembre?',
  },
  incidents: {
    en: 'how many incidents were there in the last 7 days?',
    de: 'Wie viele Vorfälle gab es in den letzten sieben Tagen?',
    es: '¿Cuántos incidentes hubo en los últimos 7 días?',
  },
  incidentsOfDay: {
    en: 'Incidents on Tuesday',
    de: 'Welche Ausfälle gab es am Dienstag?',
    es: 'incidentes del 24 de noviembre',
  },
  longest: {
    en: 'What was the longest outage in the past week?',
    de: 'Was war der längste Ausfall in den letzten 7 Tagen?',
    es: '¿Cuál fue la caída más larga en la última semana?',
  },
  mostIncidents: {
    en: 'which monitor had the most incidents in the last 7 days?',
    de: 'Welcher Monitor hatte in den letzten 7 Tagen die meisten Ausfälle?',
    es: '¿Qué monitor tuvo más incidentes en los últimos 7 días?',
  },
  mostDowntime: {
    en: 'which service had the most downtime in the last week?',
    de: 'Welcher Monitor hatte in den letzten 7 Tagen die meiste Ausfallzeit?',
    es: '¿Qué monitor tuvo más tiempo de caída en los últimos 7 días?',
  },
  lastDown: {
    en: 'When was Payroll last down?',
    de: 'Wann war Payroll zuletzt down?',
    es: '¿Cuándo se cayó Payroll por última vez?',
  },
  timesDown: {
    en: 'How many times did shop-eu go down since 20 November?',
    de: 'Wie oft war shop-eu seit dem 20. November down?',
    es: '¿Cuántas veces se cayó shop-eu desde el 20 de noviembre?',
  },
  downYesterday: {
    en: 'what was down yesterday?',
    de: 'Was war gestern ausgefallen?',
    es: '¿Qué estuvo caído ayer?',
  },
  uptimeOfAll: {
    en: 'overall uptime yesterday',
    de: 'Wie war gestern die Verfügbarkeit?',
    es: '¿Cuál fue la disponibilidad total ayer?',
  },
  responseTime: {
    en: 'response time of Maps yesterday',
    de: 'Antwortzeit von Maps gestern',
    es: 'tiempo de respuesta de Maps ayer',
  },
  lastChange: {
    en: 'What changed last?',
    de: 'Was hat sich zuletzt geändert?',
    es: '¿Qué ha cambiado recientemente?',
  },
  newest: {
    en: 'Which monitor is the newest?',
    de: 'Welcher Monitor ist der neueste?',
    es: '¿Cuál es el monitor más nuevo?',
  },
  withoutWeekend: {
    en: 'uptime of Shop in the last 7 days excluding the weekend',
    de: 'Verfügbarkeit von Shop in den letzten 7 Tagen ohne das Wochenende',
    es: 'disponibilidad de Shop en los últimos 7 días sin el fin de semana',
  },
} satisfies Record<string, Record<Language, string>>;

export type QuestionId = keyof typeof QUESTIONS;
