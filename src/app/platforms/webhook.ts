import { z } from 'zod';
import { readWebhookAddress, WEBHOOK, webhookChannel } from '../../bot/channels/webhook-address.ts';
import { secret } from '../../config/variable-types.ts';
import { addressProblem } from '../../webhook/shapes.ts';
import { registration } from './registration.ts';

const loadWebhook = () => import('../../webhook/webhook.ts');

/** It is always on, because people in chat may add addresses too. */
export const webhook = registration({
  name: WEBHOOK,
  title: 'Webhooks',
  examples: { channel: 'webhook:https://example.com/hook' },
  channelId(text) {
    const address = readWebhookAddress(text);
    return address && webhookChannel(address);
  },
  variables: {
    secret: secret(
      'WEBHOOK_SECRET',
      'signs the posts to webhooks, 16 to 200 characters; see docs/alerts-elsewhere.md',
      z
        .string()
        .min(16, 'must have at least 16 characters; generate one with: openssl rand -hex 32')
        .max(200, 'must have at most 200 characters')
        .optional(),
    ),
  },
  problems: (_values, { channels }) =>
    channels.map((text) => {
      const address = readWebhookAddress(text);
      const problem = address && addressProblem(address);
      return [problem !== undefined, `ALERT_CHANNELS: ${problem}`];
    }),
  configure: ({ secret }, { channels: addresses }) => ({
    settings: {},
    load: loadWebhook,
    async create({ allowPrivate, isHeld }) {
      const { createWebhook } = await loadWebhook();
      return createWebhook({ addresses, allowPrivate, secret, isHeld });
    },
    async check({ fetch }) {
      const { checkWebhooks } = await import('../../webhook/doctor.ts');
      return await checkWebhooks({ addresses, secret, fetch });
    },
  }),
});
