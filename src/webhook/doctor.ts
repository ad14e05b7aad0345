import { readWebhookAddress, webhookChannel } from '../bot/channels/webhook-address.ts';
import { type Finding, ok, problem, warning } from '../bot/shared/finding.ts';
import { isGeneric } from './shapes.ts';

/** Checks that the hosts of the operator's webhooks answer. It posts nothing. */
export async function checkWebhooks(setup: {
  addresses: readonly string[];
  secret?: string;
  fetch: typeof fetch;
}): Promise<Finding[]> {
  const addresses = setup.addresses.flatMap((text) => readWebhookAddress(text) ?? []);
  if (addresses.length === 0) return [ok('Webhooks', 'none in ALERT_CHANNELS')];
  const found = await Promise.all(addresses.map((address) => checkHost(address, setup.fetch)));
  if (setup.secret !== undefined || !addresses.some(isGeneric)) return found;
  const unsigned =
    'Posts are not signed, so a receiver can’t check where they come from. Set WEBHOOK_SECRET; generate one with: openssl rand -hex 32';
  return [...found, warning('Webhook signature', unsigned)];
}

async function checkHost(address: URL, call: typeof fetch): Promise<Finding> {
  const check = `Webhook ${webhookChannel(address)}`;
  try {
    await call(`${address.origin}/`, { method: 'HEAD' });
    return ok(check, 'its host answers');
  } catch (error) {
    const { message } = error as Error;
    // Every answer shows that the host is there.
    if (message.startsWith('a redirect')) return ok(check, 'its host answers');
    return problem(check, `Its host can’t be reached: ${message}. Check it in ALERT_CHANNELS.`);
  }
}
