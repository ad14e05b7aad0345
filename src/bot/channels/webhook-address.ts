import { hash } from 'node:crypto';

/** The platform that posts alerts to other programs. */
export const WEBHOOK = 'webhook';

const MAX_LENGTH = 2000;

/** Characters after the host that are enough to show the last four. */
const SECRET_LENGTH = 20;

/** An address that can be posted to; `undefined` for other texts. Pure. */
export function readWebhookAddress(text: string): URL | undefined {
  if (text.length > MAX_LENGTH || !/^https?:\/\/\S+$/i.test(text)) return undefined;
  return URL.canParse(text) ? new URL(text) : undefined;
}

/**
 * The channel of a webhook: its host and a hash, because the address is a secret and a channel isn't. Each channel that
 * registers an address has its own (`owner`). Pure.
 */
export const webhookChannel = (address: URL, owner = '') =>
  `${address.host}/${hash('sha256', JSON.stringify([owner, address.href]), 'hex').slice(0, 12)}`;

/** `https://hooks.example.com/…f00d`, enough to recognize the address. Pure. */
export function maskedAddress({ protocol, host, pathname, search }: URL): string {
  const secret = pathname + search;
  return `${protocol}//${host}/…${secret.length < SECRET_LENGTH ? '' : secret.slice(-4)}`;
}
