import { createHash } from 'node:crypto';
import type { CheckType } from '../../../contracts/monitoring.ts';
import { type Invocation, toAsker, toEveryone } from '../../shared/invocation.ts';
import { create, mayAdd } from '../../tools/create-monitor.ts';
import { monitorOf, NewMonitor, TYPES } from '../../tools/new-monitor.ts';
import { command } from '../command.ts';
import { pushParts } from './push-address.ts';

/** What a form asks for every type of check. */
const ALWAYS = ['type', 'target', 'name', 'interval'] as const;

/** `/monitor add`: creates a monitor, and this channel hears its alerts. */
export const monitorAdd = command({
  name: 'monitor add',
  summary:
    'Watch an address, a page’s text, a DNS name, port, certificate or job; this channel hears its alerts',
  right: mayAdd,
  input: NewMonitor,
  examples: [
    '/monitor add https://example.com',
    '/monitor add https://example.com name="Shop" keyword=Cart interval=30',
    '/monitor add example.com record=MX',
    '/monitor add db.example:5432',
    '/monitor add example.com type=CERTIFICATE',
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
    const { card, pushUrl } = await create(monitorOf(input), { ...call, idempotencyKey });
    if (pushUrl === undefined) return toEveryone(card);
    // Whoever has the push address can report the job as alive.
    return toAsker({ ...card, parts: [...card.parts, ...pushParts(pushUrl)] });
  },
});

/** The same for all tries of one invocation; an id may be longer than a key. */
const idempotencyKeyOf = ({ id }: Invocation) =>
  createHash('sha256').update(id).digest('base64url');
