import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { DurationRange } from '../../../contracts/duration.ts';
import { type CheckType, HeartbeatConfig, probeSettings } from '../../../contracts/monitoring.ts';
import { maskedTarget, maskedText } from '../../../contracts/secret-values.ts';
import { toAsker, toEveryone } from '../../shared/invocation.ts';
import { create, createMonitor, draftOf, mayAdd } from '../../tools/create-monitor.ts';
import { titleOf } from '../../tools/known-monitor.ts';
import { monitorOf, NewMonitor, TYPES } from '../../tools/new-monitor.ts';
import { assertShownWhole } from '../../tools/proposals.ts';
import { type Call, command, optionalDuration } from '../command.ts';
import { pushParts } from './push-address.ts';

/** Inputs of the form for every type of check. */
const ALWAYS = ['type', 'target', 'name', 'interval'] as const;

/** The service's limits for a number of seconds. */
const rangeOf = ({ minValue, maxValue }: z.ZodNumber): DurationRange => ({
  minMs: Number(minValue) * 1000,
  maxMs: Number(maxValue) * 1000,
});

/** Times are durations. */
export const newMonitorInput = NewMonitor.extend({
  interval: optionalDuration(
    rangeOf(HeartbeatConfig.shape.period_seconds.unwrap()),
    'Time between checks or pings, such as 30s, 5m or 1d; default: 1m (heartbeat: 1d)',
  ),
  timeout: optionalDuration(
    rangeOf(probeSettings.timeout_seconds.unwrap()),
    'How long a check may take, such as 10s',
  ),
  grace: optionalDuration(
    rangeOf(HeartbeatConfig.shape.grace_seconds.unwrap()),
    'How late a heartbeat may be, such as 10m; default: 1h',
  ),
});

export const isDuration = (input: string) => ['interval', 'timeout', 'grace'].includes(input);

/** Converts the durations of the inputs to seconds. */
export function inSeconds<T extends object>(values: T): T {
  const seconds = (ms: unknown) => (typeof ms === 'number' ? ms / 1000 : ms);
  const entries = Object.entries(values);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isDuration(name) ? seconds(value) : value]),
  ) as T;
}

/** Throws a `CommandError` for inputs that don't go together. */
function wantedMonitor(values: z.output<typeof newMonitorInput>) {
  return monitorOf(inSeconds(values));
}

/** Creates a monitor and subscribes this channel to its alerts. */
export const monitorAdd = command({
  name: 'monitor add',
  summary:
    'Watch an address, a page’s text, a DNS name, port, certificate or job; alerts go to this channel',
  group: 'watch',
  right: mayAdd,
  input: newMonitorInput,
  hasSecret: hasSecretSetting,
  examples: [
    '/monitor add https://example.com',
    '/monitor add https://example.com name="Shop" keyword=Cart interval=5m',
    '/monitor add example.com record=MX',
    '/monitor add db.example:5432',
    '/monitor add example.com type=CERTIFICATE',
    '/monitor add nightly-backup type=HEARTBEAT interval=1d grace=2h',
    '/monitor add nightly-backup cron="0 3 * * *" zone=Europe/Berlin grace=30m',
  ],
  form: {
    title: 'Add a monitor',
    send: 'Add',
    inputs: ({ type }) => [...ALWAYS, ...(TYPES[type as CheckType]?.inputs ?? [])],
    chooses: { input: 'type', first: 'HTTP' },
    required: ['keyword'],
    check: wantedMonitor,
  },
  async run(values, call) {
    const monitor = wantedMonitor(values);
    const { twin, ...draft } = await draftOf(monitor, call.monitoring);
    // A proposal is stored and shown.
    if (twin && !hasSecretSetting(values)) return await askFirst({ twin, ...draft }, call);
    // An invocation's id may be longer than a key.
    const idempotencyKey = createHash('sha256').update(call.invocation.id).digest('base64url');
    const twinHint = twin ? [`You already watch this (${titleOf(twin)}).`] : [];
    const hints = [...twinHint, ...draft.hints];
    const { card, pushUrl } = await create(monitor, { ...call, idempotencyKey, hints });
    if (pushUrl === undefined) return toEveryone(card);
    // Anyone who has the push address can report the job as alive.
    return toAsker({ ...card, parts: [...card.parts, ...pushParts(pushUrl)] });
  },
});

/** `send` may be a login, and an address may have a password or a key. */
export function hasSecretSetting({ target = '', send, runbook }: Record<string, unknown>): boolean {
  const hasSecret = typeof runbook === 'string' && maskedText(runbook) !== runbook;
  return hasSecret || send !== undefined || maskedTarget(String(target)) !== target;
}

/** Asks before it adds a monitor that exists already. */
async function askFirst(draft: Record<string, unknown>, call: Call) {
  const { handling, person, place, proposals } = call;
  assertShownWhole(createMonitor, draft);
  const of = { answer: handling.answer, person: person.id, private: true, place };
  const [card] = await proposals.keep([{ tool: createMonitor, draft }], of);
  if (!card) throw new TypeError('A proposal has a card.');
  return toAsker(card);
}
