import { reportCard } from '../../../src/bot/reports/report-card.ts';
import { factsOf } from '../../../src/bot/reports/report-facts.ts';
import { spanSoFar } from '../../../src/bot/reports/schedule.ts';

const NOW_MS = Date.parse('2026-11-26T12:00:00Z');
const DAY_MS = 86_400_000;

/** Text that pings, links, formats or ends a block on some platform. */
export const HOSTILE =
  '<!channel> <@U1> @everyone <@&9> ``` [x](https://evil.example) *b* _i_ \n# h | `x`\u202e';

/** A weekly report on 200 monitors with long hostile names, all of which were down. */
export async function hostileReport(sentences?: string) {
  const span = spanSoFar('weekly', 'Europe/Berlin', NOW_MS);
  const monitors = Array.from({ length: 200 }, (_, no) => ({
    ...{ id: `mon_${no}`, name: `${no} ${HOSTILE.repeat(10)}`, check_type: 'HTTP' },
    ...{ target: `https://${no}.example`, status: 'DOWN', interval_seconds: 60 },
  }));
  const parts = span.cuts.map((_, at) => at + 1);
  const rows = monitors.map(({ id }, no) => ({
    id,
    created_at: new Date(NOW_MS - 2 * DAY_MS).toISOString(),
    up_ms: parts.map(() => DAY_MS - 60_000 * (no + 1)),
    down_ms: parts.map((part) => 1_000 * part * (no + 1)),
    passed: parts.map(() => 1_440),
    mean_ms: parts.map(() => 1.5 * (no + 1)),
  }));
  const incidents = {
    incidents: monitors.map(({ id, name }, no) => ({
      ...{ id: `inc_${no}`, monitor: id, name, change: 1, ended_at: null, ended_as: null },
      ...{ started_at: new Date(NOW_MS - no * 60_000).toISOString() },
      ...{ cause: HOSTILE.repeat(10), outcome: 'status' },
    })),
    total: 5_000,
    complete: false,
  };
  const record = { span, monitors, rows, incidents, incidentsBefore: incidents };
  const facts = await factsOf(record, () => true);
  return reportCard(
    facts,
    sentences === undefined ? undefined : { text: sentences, model: HOSTILE },
  );
}
