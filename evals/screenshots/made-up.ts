import { pino } from 'pino';
import type { CheckResult } from '../../src/monitoring/checks/check-result.ts';
import { openHistory } from '../../src/monitoring/history/history.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

interface MadeUp {
  name: string;
  /** Approximate response time. */
  tookMs: number;
  /** When it was down: days before now, and for how many minutes. */
  outages?: readonly { daysAgo: number; minutes: number }[];
  /** The current fault, if any. */
  now?: 'broken' | 'slow';
  /** Since when it is watched, when not for all ninety days. */
  sinceDays?: number;
}

/** A small shop's services, so that the pictures show what people watch. */
export const MADE_UP: readonly MadeUp[] = [
  {
    ...{ name: 'Checkout', tookMs: 140, now: 'broken' },
    outages: [
      { daysAgo: 0.62, minutes: 50 },
      { daysAgo: 26.3, minutes: 40 },
      { daysAgo: 61.7, minutes: 900 },
    ],
  },
  { name: 'Search', tookMs: 210, now: 'slow', outages: [{ daysAgo: 12.4, minutes: 30 }] },
  { name: 'Website', tookMs: 60, outages: [{ daysAgo: 40.2, minutes: 20 }] },
  { name: 'Sign-in', tookMs: 85 },
  { name: 'Image server', tookMs: 35, outages: [{ daysAgo: 26.3, minutes: 70 }] },
  { name: 'Invoices', tookMs: 180, sinceDays: 34, outages: [{ daysAgo: 5.1, minutes: 20 }] },
  { name: 'Mail', tookMs: 120 },
  { name: 'Documentation', tookMs: 45, outages: [{ daysAgo: 75.5, minutes: 240 }] },
];

/** Returns the result of a past check; undefined before the monitor existed. */
export function checkAt(number: number, atMs: number, nowMs: number): CheckResult | undefined {
  const { tookMs, outages = [], sinceDays = 90 } = MADE_UP[number] ?? { tookMs: 0 };
  if (nowMs - atMs > sinceDays * DAY_MS) return undefined;
  const isDown = outages.some(({ daysAgo, minutes }) => {
    const startMs = nowMs - daysAgo * DAY_MS;
    return atMs >= startMs && atMs < startMs + minutes * MINUTE_MS;
  });
  if (isDown) return { ok: false, outcome: 'timeout', reason: REASON, responseTimeMs: 10_000 };
  // More is asked by day, and no two answers take the same time.
  const byDay = 1 + 0.35 * Math.sin(((atMs % DAY_MS) / DAY_MS) * 2 * Math.PI - 2);
  const noise = 1 + (((atMs / MINUTE_MS) * 7_919) % 97) / 400;
  return { ok: true, outcome: 'ok', responseTimeMs: tookMs * byDay * noise };
}

const REASON = 'no answer within 10 s';

/** Adds the incidents of the past. */
export async function writeIncidents(folder: string, ids: readonly string[], nowMs: number) {
  const log = pino({ level: 'silent' });
  const store = await openLowdbStore({ folder, log });
  const history = await openHistory({ store, wallMs: () => nowMs, log });
  for (const [at, id] of ids.entries()) {
    const outages = [...(MADE_UP[at]?.outages ?? [])].reverse();
    const changes = outages.flatMap(({ daysAgo, minutes }, which) => {
      const startMs = Math.round(nowMs - daysAgo * DAY_MS);
      const endMs = startMs + minutes * MINUTE_MS;
      const down = { from: 'UP', to: 'DOWN', outcome: 'timeout', reason: REASON } as const;
      const up = { from: 'DOWN', to: 'UP' } as const;
      return [
        { ...down, atMs: startMs, sinceMs: startMs, number: -2 * (outages.length - which) },
        { ...up, atMs: endMs, sinceMs: endMs, number: -2 * (outages.length - which) + 1 },
      ];
    });
    await history.addChanges(id, changes);
  }
  await history.close();
  await store.close();
}

/** A question in the playground and the model's answer. */
export const QUESTION = 'which process listens on port 3000?';
export const ANSWER = `On **Linux**, this names the process and its id:

\`\`\`bash
ss -ltnp 'sport = :3000'
\`\`\`

On **macOS**, ask \`lsof\`:

\`\`\`bash
lsof -nP -iTCP:3000 -sTCP:LISTEN
\`\`\`

Use \`sudo\` to see other users' processes.`;

/** A monitor, as far as the made-up model reads it in a result. */
interface Found {
  name: string;
  since: string;
  reason: string;
}

/** The model that looks up what is down, and has it silenced for two hours. */
export function lookingUp({ messages }: { messages: Array<{ role: string; content: string }> }) {
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  const call = (name: string, input: object) => ({
    calls: [{ name, arguments: JSON.stringify(input) }],
  });
  const [listed] = results;
  if (listed === undefined) return call('list_monitors', { status: 'down' });
  const [{ name, since, reason }] = JSON.parse(listed).monitors as [Found];
  const until = new Date(Date.now() + 2 * 3_600_000).toISOString();
  if (results.length === 1) return call('pause_monitor', { monitor: name, until });
  const at = `${since.slice(11, 16)} UTC`;
  return `**${name}** has been down since ${at}: ${reason}. Everything else is up.\n\nConfirm below to silence its alerts for two hours.`;
}

/** A webhook request of Alertmanager for a new alert. Source: Alertmanager, `notify/webhook`. */
export const alertOfAlertmanager = (nowMs: number) => ({
  ...{ version: '4', status: 'firing', receiver: 'askwatch', truncatedAlerts: 0 },
  ...{ groupKey: '{}:{}', groupLabels: {}, commonLabels: {}, commonAnnotations: {} },
  externalURL: 'https://alertmanager.example.com',
  alerts: [
    {
      status: 'firing',
      labels: { alertname: 'HighErrorRate', service: 'checkout', severity: 'critical' },
      annotations: {
        summary: '7 % of the requests to checkout fail',
        runbook_url: 'https://wiki.example.com/checkout',
      },
      startsAt: new Date(nowMs - 90_000).toISOString(),
      ...{ endsAt: '0001-01-01T00:00:00Z', fingerprint: '6f4a1c2be0d9775a' },
      generatorURL: 'https://prometheus.example.com/graph',
    },
  ],
});
