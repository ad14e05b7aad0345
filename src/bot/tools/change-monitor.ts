import { z } from 'zod';
import type { CheckType } from '../../contracts/monitoring.ts';
import type { MonitorChange } from '../../contracts/monitoring-additions.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import { type Card, type Fact, factsPart } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { mayManage } from '../shared/rights.ts';
import { shortened } from '../shared/text-format.ts';
import { DraftMonitor, factsOf, requireUnchanged, titleOf } from './known-monitor.ts';
import { findMonitor, offered } from './monitors.ts';
import {
  keyOf,
  type MonitorSettings,
  monitorOf,
  NewMonitor,
  refuseSecrets,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  SettingValues,
  settingNames,
  settingsIn,
  settingWords,
  TYPES,
} from './new-monitor.ts';
import { monitorField, type ToolContext, writingTool } from './tool.ts';

export const mayChange = mayManage('change monitors');

// `send` may contain a login, and a proposal is stored and shown.
const {
  name,
  target,
  type: _type,
  send: _send,
  interval,
  tags,
  runbook,
  ...settings
} = NewMonitor.shape;

export const changeMonitor = writingTool({
  name: 'change_monitor',
  title: 'Change a monitor',
  description: 'Changes settings of one monitor, but not its type.',
  right: mayChange,
  input: z.object({
    monitor: monitorField,
    name: name.describe('New name.'),
    target: target.optional().describe('New target.'),
    interval_seconds: interval,
    ...settings,
    tags: tags.describe('All its tags from now on, such as shop,eu; an empty text removes them'),
    runbook: runbook.describe(
      'All of its new runbook, an address or text; an empty text removes it',
    ),
  }),
  draft: z.object({
    monitor: DraftMonitor,
    before: SettingValues,
    after: SettingValues,
    body: z.record(z.string(), z.unknown()),
  }),
  async prepare({ monitor: meant, interval_seconds, ...inputs }, context) {
    const monitor = await changeableMonitor(meant, context);
    if (inputs.target !== undefined) refuseSecrets(inputs.target);
    const planned = planChange(monitor, { ...inputs, interval: interval_seconds });
    if (Object.keys(planned.after).length === 0) {
      const names = settingNames(monitor.check_type).filter((one) => one !== 'send');
      throw new CommandError(`Nothing would change. Say what to change: ${names.join(', ')}.`);
    }
    const { id, name, target, status } = monitor;
    return { monitor: { id, name, target, status }, ...planned };
  },
  summary: ({ monitor, before, after }) => ({
    title: `Change ${titleOf(monitor)}?`,
    facts: [...changeFacts({ before, after }), ...factsOf(monitor).slice(-1)],
    confirm: 'Change',
  }),
  async carryOut({ monitor, ...planned }, context) {
    await requireUnchanged(monitor, context);
    return await applyChange(monitor, planned, context);
  },
});

type MonitorAccess = Pick<ToolContext, 'monitoring'> & { signal?: AbortSignal };

/** Finds a monitor with its settings. Throws a `CommandError`. */
export async function changeableMonitor(meant: string, { monitoring, signal }: MonitorAccess) {
  const { id } = findMonitor(await monitoring.list({ signal }), meant);
  return await offered('changing monitors', monitoring.show(id, { signal }));
}

/** Changes the monitor. The card shows the differences. */
export async function applyChange(
  { id }: Pick<DraftMonitor, 'id'>,
  { body, ...values }: PlannedChange,
  { monitoring }: MonitorAccess,
): Promise<Card> {
  const changed = await offered('changing monitors', monitoring.change(id, body));
  const title = `${titleOf(changed)} was changed`;
  return { tone: 'good', title, parts: [factsPart(...changeFacts(values))] };
}

/** Inputs of a change. Absent ones stay as they are; `null` resets one to its default. */
export type SettingInputs = { [Name in SettingName]?: NewMonitor[Name] | null };

/** A change, and the settings that differ, before and after it. */
export interface PlannedChange {
  before: SettingValues;
  after: SettingValues;
  body: MonitorChange;
}

/**
 * Plans a change; `after` is empty if nothing would differ. Throws a `CommandError` for inputs that don't go together, or that
 * the type doesn't have. Pure.
 */
export function planChange(monitor: MonitorSettings, inputs: SettingInputs): PlannedChange {
  const { check_type: type } = monitor;
  const current = settingsIn(monitor);
  const wanted = changedMonitor(type, current, inputs);
  const next = { ...settingsIn(wanted), ...(inputs.send && { send: inputs.send }) };
  const isReplaced = (name: SettingName) =>
    name === (next.cron === undefined ? 'zone' : 'interval');
  const changed = SETTING_NAMES.filter((name) => next[name] !== current[name] && !isReplaced(name));
  const after = Object.fromEntries(changed.map((name) => [name, next[name] ?? null]));
  const before = Object.fromEntries(
    changed.flatMap((name) => (current[name] === undefined ? [] : [[name, current[name]]])),
  );
  const config: Record<string, unknown> = Object.fromEntries(
    changed.flatMap((name) => {
      const key = keyOf(name, type);
      return key === undefined ? [] : [[key, after[name]]];
    }),
  );
  // The zone of an earlier crontab may still be stored.
  if (changed.includes('cron')) config.timezone = next.zone ?? null;
  if (changed.includes('target') && type === 'TCP') {
    config.tls = String(next.target).startsWith('tls://');
  }
  const body = {
    ...(changed.includes('name') && { name: wanted.name }),
    ...(changed.includes('target') && { target: wanted.target }),
    ...(changed.includes('tags') && { tags: wanted.tags ?? [] }),
    ...(changed.includes('runbook') && { runbook: wanted.runbook ?? '' }),
    ...(Object.keys(config).length > 0 && { config }),
  };
  return { before, after, body };
}

/** The monitor with the inputs that differ, checked like a new one. */
function changedMonitor(
  type: string,
  current: SettingValues,
  inputs: SettingInputs,
): MonitorSettings {
  const asked = Object.fromEntries(
    SETTING_NAMES.flatMap((name) => {
      const given = inputs[name];
      const value = Array.isArray(given) ? given.join(',') || null : given;
      const isSame =
        value === undefined ||
        value === (current[name] ?? null) ||
        // A form shows the target without its secrets.
        (name === 'target' && value === maskedTarget(String(current.target)));
      return isSame ? [] : [[name, given ?? undefined]];
    }),
  );
  const kept = { ...current };
  if ('interval' in asked || 'cron' in asked) {
    delete kept.interval;
    delete kept.cron;
    if (asked.cron === undefined) delete kept.zone;
  }
  const { tags } = current;
  const wanted = {
    ...kept,
    ...asked,
    ...(!('tags' in asked) && typeof tags === 'string' && { tags: tags.split(',') }),
  } as NewMonitor;
  if (Object.hasOwn(TYPES, type)) return monitorOf({ ...wanted, type: type as CheckType });
  const names = settingNames(type);
  const unknown = Object.keys(asked).find((name) => !names.some((one) => one === name));
  if (unknown === undefined)
    return { name: '', ...wanted, check_type: type, config: { interval_seconds: wanted.interval } };
  throw new CommandError(
    `Of a ${type} monitor, Askwatch can only change ${names.join(', ')}, not “${unknown}”.`,
    { input: unknown },
  );
}

/** The differences, such as `Every: 1 minute → 5 minutes`. Pure. */
export const changeFacts = ({ before, after }: Pick<PlannedChange, 'before' | 'after'>): Fact[] =>
  SETTING_NAMES.flatMap((name) => {
    const value = after[name];
    if (value === undefined) return [];
    const { label, none } = SETTINGS[name];
    const from = before[name] == null ? none : settingWords(name, before[name]);
    const start = from === undefined ? '' : `${shortened(from, 200)} → `;
    return [{ label, value: start + settingWords(name, value) }];
  });
