import { z } from 'zod';
import { IntervalSeconds } from '../../contracts/monitoring.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import type { Fact } from '../shared/card.ts';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { shownTarget } from '../shared/target-link.ts';
import { inWords, shortened } from '../shared/text-format.ts';
import { factsOf, KnownMonitor, stillKnown, titleOf } from './known-monitor.ts';
import { findMonitor, listAll, offered } from './monitors.ts';
import { refuseSecrets } from './new-monitor.ts';
import { mayManage } from './pause-monitor.ts';
import { monitorField, writingTool } from './tool.ts';

const Change = z.object({
  name: z.string().optional(),
  target: z.string().optional(),
  interval_seconds: z.number().optional(),
  keyword: z.string().optional(),
});

/** Another name, target, interval or keyword. */
export const changeMonitor = writingTool({
  name: 'change_monitor',
  title: 'Change a monitor',
  description:
    'Gives one monitor another name, target, time between checks or keyword. Its type of check stays.',
  right: mayManage('change monitors'),
  input: z.object({
    monitor: monitorField,
    name: z.string().min(1).max(200).optional().describe('Its new name.'),
    target: z.string().min(1).max(2048).optional().describe('What to check instead.'),
    interval_seconds: z
      .int()
      .min(IntervalSeconds.min)
      .max(IntervalSeconds.max)
      .optional()
      .describe('Seconds between checks, or between the pings of a heartbeat.'),
    keyword: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('The text that must be in the page, of a KEYWORD monitor.'),
  }),
  draft: z.object({
    monitor: KnownMonitor,
    check_type: z.string(),
    before: Change,
    change: Change,
  }),
  async prepare({ monitor: meant, ...change }, { monitoring, signal }) {
    const { id, name, target, status, check_type } = findMonitor(
      await listAll(monitoring, { signal }),
      meant,
    );
    const known = { id, name, target, status };
    if (Object.values(change).every((value) => value === undefined)) {
      throw new CommandError(
        'Say what is to be changed: name, target, interval_seconds or keyword.',
      );
    }
    if (change.keyword !== undefined && check_type !== 'KEYWORD') {
      throw new CommandError(
        `${titleOf(known)} looks for no keyword: it is a ${check_type} monitor.`,
      );
    }
    if (change.target !== undefined) refuseSecrets(change.target);
    const { config } = await offered('to change monitors', monitoring.show(id, { signal }));
    const seconds = config.interval_seconds ?? config.period_seconds;
    const keyword = config.target_keyword;
    const before = {
      ...(change.name !== undefined && { name }),
      ...(change.target !== undefined && { target }),
      ...(change.interval_seconds !== undefined &&
        typeof seconds === 'number' && { interval_seconds: seconds }),
      ...(change.keyword !== undefined && typeof keyword === 'string' && { keyword }),
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
    const { name, target, interval_seconds, keyword } = change;
    const intervalName = check_type === 'HEARTBEAT' ? 'period_seconds' : 'interval_seconds';
    const config = {
      ...(interval_seconds !== undefined && { [intervalName]: interval_seconds }),
      ...(keyword !== undefined && { target_keyword: keyword }),
    };
    const changed = await offered(
      'to change monitors',
      context.monitoring.change(monitor.id, {
        ...(name !== undefined && { name }),
        ...(target !== undefined && { target }),
        ...(Object.keys(config).length > 0 && { config }),
      }),
    );
    const card = textCard('good', `${titleOf(changed)} is changed`);
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
  ];
}
