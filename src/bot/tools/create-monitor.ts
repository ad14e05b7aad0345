import type { Logger } from 'pino';
import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import {
  CertificateConfig,
  CheckType,
  HeartbeatConfig,
  IntervalSeconds,
  type MonitorCreated,
  type MonitorCreateInput,
} from '../../contracts/monitoring.ts';
import type { Channels } from '../channels/channels.ts';
import {
  type Card,
  type CardAction,
  compact,
  type Fact,
  factsPart,
  fittingActions,
  textPart,
} from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import type { Place } from '../shared/place.ts';
import type { Right } from '../shared/rights.ts';
import { shownTarget } from '../shared/target-link.ts';
import { shortened } from '../shared/text-format.ts';
import { titleOf } from './known-monitor.ts';
import { monitorOf, NewMonitor, refuseSecrets, settingFacts } from './new-monitor.ts';
import { writingTool } from './tool.ts';
import { findTwin, hostHints, nameHints } from './twin-monitor.ts';

export const mayAdd: Right = { setting: 'mayAdd', over: 'shared', to: 'add monitors' };

// `send` may contain a login, and a proposal is stored and shown.
const {
  interval,
  send: _send,
  timeout: _timeout,
  cron: _cron,
  zone: _zone,
  grace: _grace,
  ...inputs
} = NewMonitor.shape;

const CERTIFICATE_SECONDS = CertificateConfig.shape.interval_seconds.parse(undefined);
const HEARTBEAT_SECONDS = HeartbeatConfig.shape.period_seconds.parse(undefined);

export const createMonitor = writingTool({
  name: 'create_monitor',
  title: 'Add a monitor',
  description: 'Adds a monitor; this channel receives its alerts.',
  right: mayAdd,
  input: z.object({ ...inputs, interval_seconds: interval }),
  draft: z.object({
    name: z.string(),
    target: z.string(),
    check_type: CheckType,
    config: z.record(z.string(), z.unknown()),
    tags: z.array(z.string()).optional(),
    runbook: z.string().optional(),
    /** A monitor that already checks the same. */
    twin: z.object({ id: z.string(), name: z.string() }).optional(),
    hints: z.array(z.string()),
  }),
  async prepare({ interval_seconds, ...input }, context) {
    refuseSecrets(input.target);
    return await draftOf(monitorOf({ ...input, interval: interval_seconds }), context.monitoring);
  },
  summary: ({ name, target, check_type, config, tags, runbook, twin, hints }) => ({
    title: twin
      ? `You already watch this (${titleOf(twin)}). Add anyway?`
      : `Watch ${titleOf({ name })}?`,
    facts: compact<Fact>(
      titleOf({ name }) !== name && { label: 'Name', value: name },
      { label: 'Target', value: shownTarget(target) },
      { label: 'Kind', value: check_type },
      ...settingFacts({ check_type, config, tags, runbook }),
      { label: 'Alerts', value: 'posted in this channel' },
      ...hints.map((value) => ({ label: 'Note', value })),
    ),
    confirm: twin ? 'Add anyway' : 'Watch',
    actions: twin ? showAction(twin) : [],
  }),
  async carryOut({ twin: _, hints: __, ...draft }, context) {
    const monitor = draft as MonitorCreateInput;
    const { card, pushUrl, id } = await create(monitor, context);
    return pushUrl === undefined ? card : withoutAddress(card, id);
  },
});

/** A new monitor with its default settings and hints about similar ones, for a confirmation card. */
export async function draftOf(
  { config = {}, ...monitor }: MonitorCreateInput,
  monitoring: MonitoringClient,
) {
  const { check_type } = monitor;
  const seconds = check_type === 'CERTIFICATE' ? CERTIFICATE_SECONDS : IntervalSeconds.default;
  const standard =
    check_type === 'HEARTBEAT'
      ? { period_seconds: HEARTBEAT_SECONDS }
      : { interval_seconds: seconds };
  const wanted = { ...monitor, config: { ...standard, ...config } };
  const monitors = await monitoring.list();
  const twin = await findTwin(wanted, monitors, (id) => monitoring.show(id));
  const hints = [...nameHints(wanted, monitors), ...hostHints(wanted)];
  return { ...wanted, twin: twin && { id: twin.id, name: twin.name }, hints };
}

const showAction = ({ id, name }: { id: string; name: string }): CardAction[] =>
  fittingActions({
    label: `Show ${shortened(name, 40)}`,
    command: 'monitor show',
    values: { monitor: id },
  });

/** Creates a monitor and subscribes the channel to its alerts. `pushUrl` is for the job of a heartbeat; show it only once. */
export async function create(
  monitor: MonitorCreateInput,
  context: {
    monitoring: MonitoringClient;
    channels: Pick<Channels, 'add'>;
    place?: Place;
    idempotencyKey: string;
    hints?: readonly string[];
    log: Logger;
  },
): Promise<{ card: Card; id: string; pushUrl: string | undefined }> {
  const { monitoring, place, idempotencyKey, hints = [] } = context;
  const created = await monitoring.create(monitor, { idempotencyKey });
  const alerts = place ? [await subscribe(created, { ...context, place })] : [];
  return {
    card: createdCard(created, monitor, [...alerts, ...hints]),
    id: created.id,
    pushUrl: created.push_url,
  };
}

/** Resolves to a sentence. Never throws, because the monitor exists already. */
async function subscribe(
  created: MonitorCreated,
  { channels, place, log }: { channels: Pick<Channels, 'add'>; place: Place; log: Logger },
): Promise<string> {
  try {
    await channels.add(place, created);
    return 'Alerts will be posted in this channel.';
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    log.error({ err: error, monitor: created.id }, "could not turn on a new monitor's alerts");
    return 'Its alerts could not be turned on in this channel. Try /monitor alerts on.';
  }
}

function createdCard(
  created: MonitorCreated,
  { config, tags, runbook }: Pick<MonitorCreateInput, 'config' | 'tags' | 'runbook'>,
  texts: readonly string[],
): Card {
  const { name, check_type, target, id, interval_seconds } = created;
  const times = { interval_seconds, period_seconds: interval_seconds };
  return {
    tone: 'good',
    title: `Now watching ${name}`,
    parts: [
      factsPart(
        { label: 'Target', value: shownTarget(target) },
        { label: 'Kind', value: check_type },
        ...settingFacts({ check_type, config: { ...times, ...config }, tags, runbook }),
        { label: 'Id', value: id },
      ),
      ...texts.map(textPart),
    ],
  };
}

/** A card for everyone must not contain the push address: anyone who has it can report the job as alive. */
function withoutAddress(card: Card, id: string): Card {
  const actions = fittingActions({
    label: 'Push address',
    command: 'monitor push address',
    values: { monitor: id },
  });
  const where =
    actions.length > 0
      ? 'People who can manage monitors can create a new one with the button.'
      : 'People who can manage monitors can find it in the monitoring service.';
  const text = `The job reports to a push address. ${where}`;
  return { ...card, parts: [...card.parts, textPart(text)], actions };
}
