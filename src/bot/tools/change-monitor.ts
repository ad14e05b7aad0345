import { z } from 'zod';
import { maskedTarget } from '../../contracts/secret-values.ts';
import { type Fact, factsPart } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { mayManage } from '../shared/rights.ts';
import { shownTarget } from '../shared/target-link.ts';
import { counted, inWords, shortened } from '../shared/text-format.ts';
import { DraftMonitor, factsOf, requireUnchanged, titleOf } from './known-monitor.ts';
import { findMonitor, offered } from './monitors.ts';
import { NewMonitor, refuseSecrets } from './new-monitor.ts';
import { monitorField, writingTool } from './tool.ts';

const { name, target, interval, keyword, json, expect, days, tags } = NewMonitor.shape;

/** Settings by the names of inputs, without bounds, because another service may have other ones. */
const MonitorSettingsChange = z.object({
  name: z.string().optional(),
  target: z.string().optional(),
  interval_seconds: z.number().optional(),
  keyword: z.string().optional(),
  json: z.string().optional(),
  expect: z.string().optional(),
  days: z.number().optional(),
  tags: z.array(z.string()).optional(),
});
type MonitorSettingsChange = z.infer<typeof MonitorSettingsChange>;

/** Labels of settings, and their words on cards. */
const SHOWN: Array<
  [keyof MonitorSettingsChange, string, (value: string | number | string[]) => string]
> = [
  ['name', 'Name', String],
  ['target', 'Target', (value) => shownTarget(maskedTarget(String(value)))],
  ['interval_seconds', 'Every', (value) => inWords(Number(value) * 1000)],
  ['keyword', 'Keyword', String],
  ['json', 'JSON', String],
  ['expect', 'Expects', String],
  ['days', 'Warns', (value) => `${counted(Number(value), 'day')} before expiry`],
  ['tags', 'Tags', (tags) => String(tags) || 'none'],
];

/** Inputs of one check type, with the name of their setting. */
const OF_ONE_TYPE = {
  keyword: { type: 'KEYWORD', setting: 'target_keyword', lacks: 'does not look for a keyword' },
  json: { type: 'HTTP', setting: 'json', lacks: 'does not check a JSON value' },
  expect: { type: 'TCP', setting: 'expect', lacks: 'does not check the response' },
  days: { type: 'CERTIFICATE', setting: 'days_left', lacks: 'does not warn before expiry' },
} as const;
const TYPE_INPUTS = Object.keys(OF_ONE_TYPE) as Array<keyof typeof OF_ONE_TYPE>;

export const changeMonitor = writingTool({
  name: 'change_monitor',
  title: 'Change a monitor',
  description: 'Changes settings of one monitor, but not its type.',
  right: mayManage('change monitors'),
  input: z.object({
    monitor: monitorField,
    name: name.describe('New name.'),
    target: target.optional().describe('New target.'),
    interval_seconds: interval,
    keyword,
    json,
    expect,
    days,
    tags: tags.describe('All its tags from now on, such as shop,eu; an empty text removes them'),
  }),
  draft: z.object({
    monitor: DraftMonitor,
    check_type: z.string(),
    before: MonitorSettingsChange,
    change: MonitorSettingsChange,
  }),
  async prepare({ monitor: meant, ...change }, { monitoring, signal }) {
    const monitor = findMonitor(await monitoring.list({ signal }), meant);
    const { id, name, target, status, check_type } = monitor;
    if (Object.values(change).every((value) => value === undefined)) {
      throw new CommandError(
        'Say what to change: name, target, interval_seconds, keyword, json, expect, days or tags.',
      );
    }
    for (const one of TYPE_INPUTS) {
      const { type, lacks } = OF_ONE_TYPE[one];
      if (change[one] === undefined || check_type === type) continue;
      throw new CommandError(`${titleOf(monitor)} ${lacks}: it is a ${check_type} monitor.`);
    }
    if (change.target !== undefined) refuseSecrets(change.target);
    const { config } = await offered('changing monitors', monitoring.show(id, { signal }));
    const seconds = config.interval_seconds ?? config.period_seconds;
    const isNumber = change.interval_seconds !== undefined && typeof seconds === 'number';
    const before = {
      name: change.name === undefined ? undefined : name,
      target: change.target === undefined ? undefined : target,
      interval_seconds: isNumber ? seconds : undefined,
      tags: change.tags === undefined ? undefined : (monitor.tags ?? []),
      ...Object.fromEntries(
        TYPE_INPUTS.flatMap((one) => {
          const value = config[OF_ONE_TYPE[one].setting];
          return change[one] !== undefined && typeof value === typeof change[one]
            ? [[one, value]]
            : [];
        }),
      ),
    };
    return { monitor: { id, name, target, status }, check_type, before, change };
  },
  summary: ({ monitor, before, change }) => ({
    title: `Change ${titleOf(monitor)}?`,
    facts: [...changesOf(before, change), ...factsOf(monitor).slice(-1)],
    confirm: 'Change',
  }),
  async carryOut({ monitor, check_type, before, change }, context) {
    await requireUnchanged(monitor, context);
    const { name, target, interval_seconds, tags } = change;
    const intervalName = check_type === 'HEARTBEAT' ? 'period_seconds' : 'interval_seconds';
    const settings = [
      [intervalName, interval_seconds],
      ...TYPE_INPUTS.map((one) => [OF_ONE_TYPE[one].setting, change[one]]),
    ].filter(([, value]) => value !== undefined);
    const changed = await offered(
      'changing monitors',
      context.monitoring.change(monitor.id, {
        name,
        target,
        tags,
        config: settings.length > 0 ? Object.fromEntries(settings) : undefined,
      }),
    );
    const title = `${titleOf(changed)} was changed`;
    return { tone: 'good', title, parts: [factsPart(...changesOf(before, change))] };
  },
});

function changesOf(before: MonitorSettingsChange, after: MonitorSettingsChange): Fact[] {
  return SHOWN.flatMap(([name, label, words]) => {
    const [from, to] = [before[name], after[name]];
    if (to === undefined) return [];
    const start = from === undefined ? '' : `${shortened(words(from), 200)} → `;
    return [{ label, value: start + words(to) }];
  });
}
