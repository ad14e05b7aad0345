import { isoTime } from '../../src/bot/tools/tool.ts';
import type { Outcome } from '../../src/monitoring/checks/check-result.ts';
import { MINUTE_MS, type Period } from '../week/planned-monitor.ts';
import {
  answered,
  at,
  degraded,
  down,
  type IncidentCase,
  type ScriptedAlert,
  type ScriptedMonitor,
  type TeamTool,
} from './case.ts';

/** Words of another channel. No request to a model may contain them. */
export const SECRET_WORD = 'zebra-7731';

/** Causes that the noise of every case suggests. */
export const WRONG_ALWAYS: readonly RegExp[] = [/3\.9\.0|1\.14\.2/, /ci-runner/i, /\bchat\b/i];

/** Outages at the same time that have nothing to do with it. */
const UNRELATED: ReadonlyArray<readonly [name: string, outcome: Outcome, reason: string]> = [
  ['Partner feed', 'status', answered('404 Not Found')],
  ['Careers page', 'redirect', 'it redirects, and max_redirects is 0'],
  ['Legacy FTP bridge', 'protocol', 'the headers of the answer are too large'],
  ['Survey tool', 'status', answered('410 Gone')],
];

const QUIET = ['Wiki', 'Maps', 'Video', 'Loyalty club'];

export const slugOf = (name: string) => name.toLowerCase().replace(/[^a-z\d]+/g, '-');

/** Everything around an incident that doesn't explain it. */
export interface Noise {
  monitors: ScriptedMonitor[];
  /** Periods of the case's first monitor: earlier outages, and a gap in its checks. */
  earlier: Period[];
  alerts: ScriptedAlert[];
  found: Record<TeamTool, string[]>;
}

/** The noise of a case; `index` makes it differ from the one before. Pure. */
export function noiseOf({ monitors, startedAt }: IncidentCase, index: number): Noise {
  const subject = monitors[0]?.name ?? '';
  const slug = slugOf(subject);
  const startedAtMs = at(startedAt);
  const minutes = (count: number) => startedAtMs + count * MINUTE_MS;
  const [name, outcome, reason] = UNRELATED[index % UNRELATED.length] ?? UNRELATED[0] ?? [];
  const flap = (from: number, to: number): Period => ({
    ...{ status: 'DOWN', fromMs: minutes(from), toMs: minutes(to) },
    ...{ outcome: 'status', reason: answered('429 Too Many Requests') },
  });
  return {
    monitors: [
      // Names that differ by one word, one of them in trouble for hours.
      { name: `${subject} (staging)`, target: `https://staging-${slug}.test.example` },
      {
        name: `${subject} 2`,
        target: `https://${slug}-2.test.example`,
        periods: [down('08:10', 'status', answered('401 Unauthorized'))],
      },
      {
        name: name ?? 'Feed',
        periods: [{ ...flap(-2, 0), outcome, reason, toMs: undefined }],
      },
      { name: 'Chat', periods: [flap(-14, -13), flap(-9, -8), flap(-5, -4), flap(-1, 0)] },
      { name: 'Forum', periods: [degraded('09:30', 'slow', 'it answered after 2,318 ms')] },
      ...QUIET.map((quiet) => ({ name: quiet })),
    ],
    earlier: [
      down('09-21 03:10', 'status', answered('500 Internal Server Error'), '09-21 03:24'),
      down('11-03 17:40', 'protocol', 'the answer is not valid HTTP (HPE_INVALID)', '11-03 17:52'),
      { status: 'PAUSED', fromMs: minutes(-130), toMs: minutes(-95) },
    ],
    alerts: [
      {
        name: 'Disk of ci-runner-3 is 91 % full',
        from: isoTime(minutes(-8)).slice(5, 16).replace('T', ' '),
        intake: 'Alertmanager',
        reason: 'The disk fills up within 6 hours.',
        facts: { severity: 'warning', team: 'build' },
      },
    ],
    found: {
      find_deployments: [
        `2026-11-23T09:12:04Z ${slug} 3.9.0 by Ada`,
        `${isoTime(minutes(-4))} ${slug}-docs 1.14.2 by Tom: fix a typo in the footer`,
      ],
      search_logs: [
        `${isoTime(minutes(-8))} warn service=ci-runner msg="disk is 91 % full"`,
        `${isoTime(minutes(-3))} info service=${slug}-docs msg="server started"`,
      ],
      search_issues: ['#812 Upgrade Node.js (open)', '#790 Write down who is on call (closed)'],
    },
  };
}
