import { createHmac } from 'node:crypto';
import { readWebhookAddress, WEBHOOK, webhookChannel } from '../bot/channels/webhook-address.ts';
import type { Platform } from '../bot/platform.ts';
import type { Card } from '../bot/shared/card.ts';
import { DeliveryError } from '../bot/shared/errors.ts';
import { createSsrfGuard } from '../http/ssrf-guard.ts';
import { eventOf, type WebhookEvent } from './event.ts';
import { postJson } from './post-json.ts';
import { addressProblem, isGeneric, shapeFor } from './shapes.ts';

export interface WebhookOptions {
  /** The operator's addresses, which may be anywhere. */
  addresses: readonly string[];
  /** Private networks that other addresses may be in. */
  allowPrivate: readonly string[];
  /** Signs posts. */
  secret?: string;
  isHeld(): boolean;
}

/** Posts every alert, and every change of one, as JSON. It understands no commands. */
export function createWebhook(options: WebhookOptions): Platform {
  const { addresses, allowPrivate, secret, isHeld } = options;
  const ofOperator = new Map(
    addresses.flatMap((text) => {
      const address = readWebhookAddress(text);
      return address ? [[webhookChannel(address), address] as const] : [];
    }),
  );
  const guard = createSsrfGuard(allowPrivate);
  const isPublic = createSsrfGuard([]).allows;
  const stopping = new AbortController();
  let registered: (channel: string) => Promise<string | undefined> = async () => undefined;

  /** A post to a public http address isn't encrypted, so only the operator may choose one. */
  const allowsFromChat = ({ protocol }: URL, ip: string) =>
    guard.allows(ip) && (protocol === 'https:' || !isPublic(ip));

  async function send(
    channel: string,
    { delivery, event }: { delivery: string; event: WebhookEvent },
  ): Promise<void> {
    const given = ofOperator.get(channel);
    const address = given ?? readWebhookAddress((await registered(channel)) ?? '');
    // It was removed, so nobody waits for this.
    if (!address) return;
    const problem = addressProblem(address);
    if (problem !== undefined) throw new DeliveryError(problem, { permanent: true, closed: true });
    const post = shapeFor(address)(event, address);
    if (!post) return;
    if (!isHeld()) throw new DeliveryError('Another process has the bot.', { permanent: false });
    const body = JSON.stringify(post.body);
    await postJson({
      url: post.url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Askwatch',
        'x-askwatch-delivery': encodeURI(delivery),
        ...(secret !== undefined && isGeneric(address) && signature(secret, body)),
      },
      body,
      allows: (ip) => given !== undefined || allowsFromChat(address, ip),
      signal: stopping.signal,
    });
  }

  const at = (id: string) => ({ id, nowMs: Date.now() });

  return {
    name: WEBHOOK,
    async start(bot) {
      registered = bot.webhookAddress;
    },
    async stop() {
      stopping.abort();
    },
    hint: () =>
      ofOperator.size > 0
        ? `${ofOperator.size} in ALERT_CHANNELS`
        : 'none; add one with /monitor alerts on via=<address>',
    async post({ channel, under, card, id }) {
      // A webhook has no threads.
      if (under) return { message: id, thread: under.thread };
      const event = eventOf(card, kindOf(card, { open: 'opened', acknowledged: 'opened' }), at(id));
      await send(channel, { delivery: id, event });
      return { message: id, thread: id, ...(card.goesOn && { goesOn: true }) };
    },
    async update(channel, { message, thread }, card) {
      if (message !== thread) return;
      const kind = kindOf(card, { open: 'updated', acknowledged: 'acknowledged' });
      const event = eventOf(card, kind, at(message));
      await send(channel, { delivery: `${message}/${event.sequence}`, event });
    },
    async announce({ channel, posted: { message }, card, id }) {
      // The update before it said that the alert is over.
      if (card.alert?.state === 'resolved') return;
      await send(channel, { delivery: id, event: eventOf(card, 'reminder', at(message)) });
    },
  };
}

type EventKind = WebhookEvent['event'];

const kindOf = ({ alert }: Card, ongoing: Record<'open' | 'acknowledged', EventKind>): EventKind =>
  alert ? { ...ongoing, resolved: 'resolved' as const }[alert.state] : 'notice';

function signature(secret: string, body: string) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const hex = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { 'x-askwatch-timestamp': timestamp, 'x-askwatch-signature': `sha256=${hex}` };
}
