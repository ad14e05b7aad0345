import { z } from 'zod';
import { IntervalSeconds } from '../../contracts/monitoring.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import type { Fact } from '../shared/card.ts';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { shownTarget } from '../shared/target-link.ts';
import { counted, inWords, shortened } from '../shared/text-format.ts';
import { factsOf, KnownMonitor, stillKnown, titleOf } from './known-monitor.ts';
import { findMonitor, offered } from './monitors.ts';
import { refuseSecrets } from './new-monitor.ts';
import { mayManage } from './pause-monitor.ts';
import { monitorField, writingTool } from './tool.ts';

const Change = z.object({
  name: z.string().optional(),
  target: z.string().optional(),
  interval_seconds: z.number().optional(),
  keyword: z.string().optional(),
  json: z.string().optional(),
  expect: z.string().optional(),
  days: z.number().optional(),
});

/** What only monitors of one type have, and its name among their settings. */
const OF_ONE_TYPE = {
  keyword: { type: 'KEYWORD', setting: 'target_keyword', lacks: 'does not look for a keyword' },
  json: { type: 'HTTP', setting: 'json', lacks: 'does not check a JSON value' },
  expect: { type: 'TCP', setting: 'expect', lacks: 'does not check the response' },
  days: { type: 'CERTIFICATE', setting: 'days_left', lacks: 'does not warn before expiry' },
} as const;
const ONES = Object.keys(OF_ONE_TYPE) as Array<keyof typeof OF_ONE_TYPE>;

/** Another name, target, interval, or what its type of check looks for. */
export const changeMonitor = writingTool({
  name: 'change_monitor',
  title: 'Change a monitor',
  description: 'Changes settings of one monitor, but not its type.',
  right: mayManage('change monitors'),
  input: z.object({
    monitor: monitorField,
    name: z.string().min(1).max(200).optional().describe('New name.'),
    target: z.string().min(1).max(2048).optional().describe('New target.'),
    interval_seconds: z
      .int()
      .min(IntervalSeconds.min)
      .max(IntervalSeconds.max)
      .optional()
      .describe('Seconds between checks, or between heartbeat pings.'),
    keyword: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('KEYWORD: text that the page must contain.'),
    json: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('HTTP: condition on the JSON response, such as data.queue[0].depth < 100.'),
    expect: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('TCP: text that the response must contain.'),
    days: z
      .int()
      .min(0)
      .max(365)
      .optional()
      .describe('CERTIFICATE: days before expiry at which to warn.'),
  }),
  draft: z.object({
    monitor: KnownMonitor,
    check_type: z.string(),
    before: Change,
    change: Change,
  }),
  async prepare({ monitor: meant, ...change }, { monitoring, signal }) {
    const { id, name, target, status, check_type } = findMonitor(
      await monitoring.list({ signal }),
      meant,
    );
    const known = { id, name, target, status };
    if (Object.values(change).every((value) => value === undefined)) {
      throw new CommandError(
        'Say what to change: name, target, interval_seconds, keyword, json, expect or days.',
      );
    }
    for (const one of ONES) {
      const { type, lacks } = OF_ONE_TYPE[one];
      if (change[one] === undefined || check_type === type) continue;
      throw new CommandError(`${titleOf(known)} ${lacks}: it is a ${check_type} monitor.`);
    }
    if (change.target !== undefined) refuseSecrets(change.target);
    const { config } = await offered('changing monitors', monitoring.show(id, { signal }));
    const seconds = config.interval_seconds ?? config.period_seconds;
    const before = {
      ...(change.name !== undefined && { name }),
      ...(change.target !== undefined && { target }),
      ...(change.interval_seconds !== undefined &&
        typeof seconds === 'number' && { interval_seconds: seconds }),
      ...Object.fromEntries(
        ONES.flatMap((one) => {
          const value = config[OF_ONE_TYPE[one].setting];
          return change[one] !== undefined && typeof value === typeof change[one]
            ? [[one, value]]
            : [];
        }),
      ),
    };
    return { monitor: known, check_type, before, change };
  },
  summary: ({ monitor, before, change }) => ({
    title: `Change ${titleOf(monitor)}?`,
    facts: [...changesOf(before, change), ...factsOf(monitor).slice(-1)],
    confirm: 'Change',
  }),
  async carryOut({ monitor, check_type, before, change }, context) {
    await stillKnown(monitor, context);
    const { name, target, interval_seconds } = change;
    const intervalName = check_type === 'HEARTBEAT' ? 'period_seconds' : 'interval_seconds';
    const config = {
      ...(interval_seconds !== undefined && { [intervalName]: interval_seconds }),
      ...Object.fromEntries(
        ONES.flatMap((one) =>
          change[one] === undefined ? [] : [[OF_ONE_TYPE[one].setting, change[one]]],
        ),
      ),
    };
    const changed = await offered(
      'changing monitors',
      context.monitoring.change(monitor.id, {
        ...(name !== undefined && { name }),
        ...(target !== undefined && { target }),
        ...(Object.keys(config).length > 0 && { config }),
      }),
    );
    const card = textCard('good', `${titleOf(changed)} was changed`);
    return { ...card, parts: [{ kind: 'facts', facts: changesOf(before, change) }] };
  },
});

function changesOf(before: z.infer<typeof Change>, after: z.infer<typeof Change>): Fact[] {
  const row = (label: string, from: string | undefined, to: string | undefined): Fact[] =>
    to === undefined
      ? []
      : [{ label, value: from === undefined ? to : `${shortened(from, 200)} → ${to}` }];
  const seconds = (value: number | undefined) =>
    value === undefined ? undefined : inWords(value * 1000);
  const shown = (target: string | undefined) =>
    target === undefined ? undefined : shownTarget(maskedTarget(target));
  return [
    ...row('Name', before.name, after.name),
    ...row('Target', shown(before.target), shown(after.target)),
    ...row('Every', seconds(before.interval_seconds), seconds(after.interval_seconds)),
    ...row('Keyword', before.keyword, after.keyword),
    ...row('JSON', before.json, after.json),
    ...row('Expects', before.expect, after.expect),
    ...row('Warns', daysBefore(before.days), daysBefore(after.days)),
  ];
}

const daysBefore = (days: number | undefined) =>
  days === undefined ? undefined : `${counted(days, 'day')} before expiry`;
