import {
  afterConfirm,
  card,
  inGerman,
  judged,
  looked,
  monitorIs,
  tool,
} from '../criteria/criteria.ts';
import { monitorNamed } from '../week/facts.ts';
import { november } from '../week/planned-monitor.ts';
import type { EvalCase } from './case.ts';

const factsOf = (name: string) => ({ Id: monitorNamed(name).id });
const untilMs = november('26 18:00');
const waits = judged(
  'It says that the change waits for the person to confirm it, not that it is done.',
);

export const WRITES: EvalCase[] = [
  {
    id: 'writes-pause',
    question: 'pause Payroll',
    tags: ['writes', 'similar-names'],
    proposes: true,
    criteria: [
      looked(tool('pause_monitor', { monitor: monitorIs('Payroll') })),
      card('Pause Payroll?', factsOf('Payroll')),
      afterConfirm('Payroll is paused', 'Payroll', (monitor) => monitor?.status === 'PAUSED'),
      waits,
    ],
  },
  {
    id: 'writes-resume',
    question: 'resume Shop (staging)',
    tags: ['writes', 'similar-names'],
    proposes: true,
    criteria: [
      card('Resume Shop (staging)?', factsOf('Shop (staging)')),
      afterConfirm(
        'Shop (staging) resumed',
        'Shop (staging)',
        (monitor) => monitor?.status === 'UP',
      ),
      waits,
    ],
  },
  {
    id: 'writes-watch',
    question: 'watch https://status.example.com every 5 minutes, call it Status API',
    tags: ['writes'],
    proposes: true,
    criteria: [
      card('Watch Status API?', { 'Checked every': '5 minutes' }),
      afterConfirm(
        'there is a monitor Status API',
        'Status API',
        (monitor) =>
          monitor?.target.replace(/\/$/, '') === 'https://status.example.com' &&
          monitor.interval_seconds === 300,
      ),
      waits,
    ],
  },
  {
    id: 'writes-interval',
    question: 'Please check Blog only every 2 minutes from now on.',
    tags: ['writes', 'similar-names'],
    proposes: true,
    criteria: [
      card('Change Blog?', { Every: '30 seconds → 2 minutes', ...factsOf('Blog') }),
      afterConfirm(
        'Blog is checked every two minutes',
        'Blog',
        (monitor) => monitor?.interval_seconds === 120,
      ),
      waits,
    ],
  },
  {
    id: 'writes-silence',
    question: 'We are working on Search API: tell nobody of it until 18:00 UTC today.',
    tags: ['writes', 'similar-names'],
    proposes: true,
    criteria: [
      card('Silence alerts for Search API?', { Until: new Date(untilMs).toISOString() }),
      afterConfirm(
        'Search API is in maintenance until then',
        'Search API',
        async (monitor, { week }) => {
          if (!monitor) return false;
          const { maintenance } = await week.show(monitor.id);
          return maintenance.some(
            (window) => 'ends_at' in window && Date.parse(window.ends_at) === untilMs,
          );
        },
      ),
      waits,
    ],
  },
  {
    id: 'writes-pause-german',
    question: 'Pausiere Intranet',
    tags: ['writes', 'german'],
    proposes: true,
    criteria: [
      card('Pause Intranet?', factsOf('Intranet')),
      afterConfirm('Intranet is paused', 'Intranet', (monitor) => monitor?.status === 'PAUSED'),
      inGerman,
    ],
  },
];
