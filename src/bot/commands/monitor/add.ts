import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  CheckType,
  DnsConfig,
  IntervalSeconds,
  type MonitorCreated,
  type MonitorCreateInput,
} from '../../../contracts/monitoring.ts';
import { type Card, factsPart, textPart } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { type Invocation, toAsker, toEveryone } from '../../shared/invocation.ts';
import { checkWords } from '../../shared/status.ts';
import { shownTarget } from '../../shared/target-link.ts';
import { inWords } from '../../shared/text-format.ts';
import { type Call, command, optionalText, requiredText } from '../command.ts';
import { pushParts } from './push-address.ts';

const RecordType = DnsConfig.shape.record_type.unwrap();

const AddInput = z.object({
  target: requiredText(
    2048,
    'What to check: an address such as https://example.com, or a word for a heartbeat’s job',
  ),
  name: optionalText(200, 'What to call it; the host when left out'),
  type: CheckType.optional().describe(
    'Kind of check; HTTP, or what the keyword or record asks for when left out',
  ),
  keyword: optionalText(1000, 'A text that must be in the page'),
  record: RecordType.optional().describe('The DNS record that must resolve'),
  interval: z
    .int()
    .min(IntervalSeconds.min)
    .max(IntervalSeconds.max)
    .optional()
    .describe('Seconds between checks, or between the pings of a heartbeat'),
});
type AddInput = z.output<typeof AddInput>;

/** What a form asks for every type of check. */
const ALWAYS = ['type', 'target', 'name', 'interval'] as const;

/** How `/monitor add` makes a monitor of one type of check. */
interface AddedType {
  /** Inputs that go with this type alone; one that is given chooses it. */
  inputs: ReadonlyArray<'keyword' | 'record'>;
  /** Throws `CommandError` for inputs that are wrong or missing. */
  monitor(input: AddInput): MonitorCreateInput;
}

/** The types of check of the contract, each with what it takes. */
const TYPES: Record<CheckType, AddedType> = {
  HTTP: {
    inputs: [],
    monitor: (input) => ({ check_type: 'HTTP', ...pageOf(input), config: intervalOf(input) }),
  },
  KEYWORD: {
    inputs: ['keyword'],
    monitor(input) {
      const page = pageOf(input);
      if (input.keyword === undefined) {
        throw new CommandError(
          'A KEYWORD monitor needs the text to look for, such as keyword=Cart or keyword="Add to cart".',
          { input: 'keyword' },
        );
      }
      const config = { ...intervalOf(input), target_keyword: input.keyword };
      return { check_type: 'KEYWORD', ...page, config };
    },
  },
  DNS: {
    inputs: ['record'],
    monitor(input) {
      const target = hostOf(input.target);
      const record = input.record === undefined ? {} : { record_type: input.record };
      const config = { ...intervalOf(input), ...record };
      return { check_type: 'DNS', name: input.name ?? target, target, config };
    },
  },
  HEARTBEAT: {
    inputs: [],
    monitor({ target, name = target, interval }) {
      const config = interval === undefined ? {} : { period_seconds: interval };
      return { check_type: 'HEARTBEAT', name, target, config };
    },
  },
};

/** `/monitor add`: creates a monitor, and this channel hears its alerts. */
export const monitorAdd = command({
  name: 'monitor add',
  summary: 'Watch an address, a page’s text, a DNS name or a job; this channel hears its alerts',
  right: { setting: 'mayAdd', over: 'shared', to: 'add monitors' },
  input: AddInput,
  examples: [
    '/monitor add https://example.com',
    '/monitor add https://example.com name="Shop" keyword=Cart interval=30',
    '/monitor add example.com record=MX',
    '/monitor add nightly-backup type=HEARTBEAT interval=86400',
  ],
  form: {
    title: 'Add a monitor',
    send: 'Add',
    inputs: ({ type }) => [...ALWAYS, ...(TYPES[type as CheckType]?.inputs ?? [])],
    chooses: { input: 'type', first: 'HTTP' },
    required: ['keyword'],
    check: monitorOf,
  },
  async run(input, call) {
    // Whoever goes on with it when this process dies makes no second one.
    const idempotencyKey = idempotencyKeyOf(call.invocation);
    const created = await call.monitoring.create(monitorOf(input), { idempotencyKey });
    const heard = await subscribe(call, created);
    const card = createdCard(created, heard);
    // Whoever has the push address can report the job as alive.
    return created.push_url === undefined ? toEveryone(card) : toAsker(card);
  },
});

/** The same for all tries of one invocation; an id may be longer than a key. */
const idempotencyKeyOf = ({ id }: Invocation) =>
  createHash('sha256').update(id).digest('base64url');

/** The monitor as the service takes it. Throws `CommandError` for inputs that do not go together. Pure. */
export function monitorOf(input: AddInput): MonitorCreateInput {
  const given = CheckType.options.flatMap((type) =>
    TYPES[type].inputs.filter((name) => input[name] !== undefined).map((name) => ({ type, name })),
  );
  const type = input.type ?? given[0]?.type ?? 'HTTP';
  const other = given.find((each) => each.type !== type);
  if (other) {
    throw new CommandError(`A ${other.name} goes with type=${other.type}, not with type=${type}.`, {
      input: other.name,
    });
  }
  return TYPES[type].monitor(input);
}

const intervalOf = ({ interval }: AddInput) =>
  interval === undefined ? {} : { interval_seconds: interval };

function pageOf({ target, name }: AddInput) {
  const url = urlOf(target);
  return { name: name ?? url.host, target: withScheme(target) };
}

function withScheme(target: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(target) ? target : `https://${target}`;
}

function urlOf(target: string): URL {
  const text = withScheme(target);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new CommandError(
      `“${target}” is not a web address. Write one such as https://example.com or example.com/health.`,
      { input: 'target' },
    );
  }
  return url;
}

/** A DNS check asks for a name; of an address, that is its host. */
function hostOf(target: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(target) ? urlOf(target).hostname : target;
}

/** Whether this channel hears the new monitor. It exists by now, so a failure here must not hide that. */
async function subscribe({ channels, invocation, log }: Call, created: MonitorCreated) {
  try {
    await channels.add(invocation.place, created);
    return 'This channel hears its alerts.';
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    log.error({ err: error, monitor: created.id }, 'a channel could not be subscribed');
    return 'This channel could not be subscribed to its alerts. Try /monitor alerts on.';
  }
}

function createdCard(created: MonitorCreated, heard: string): Card {
  const { name, check_type, target, id, interval_seconds, push_url } = created;
  const every =
    interval_seconds === undefined
      ? []
      : [{ label: checkWords(created).every, value: inWords(interval_seconds * 1000) }];
  return {
    tone: 'good',
    title: `Now watching ${name}`,
    parts: [
      factsPart(
        { label: 'Target', value: shownTarget(target) },
        { label: 'Kind', value: check_type },
        ...every,
        { label: 'Id', value: id },
      ),
      textPart(heard),
      ...(push_url === undefined ? [] : pushParts(push_url)),
    ],
  };
}
