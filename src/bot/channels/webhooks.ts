import { randomUUID } from 'node:crypto';
import { createEncryption } from '../../store/encryption.ts';
import type { Store } from '../../store/store.ts';
import { textCard } from '../shared/card.ts';
import { CommandError, DeliveryError } from '../shared/errors.ts';
import type { Messenger } from '../shared/messenger.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { shortened } from '../shared/text-format.ts';
import type { Channels } from './channels.ts';
import { maskedAddress, readWebhookAddress, WEBHOOK, webhookChannel } from './webhook-address.ts';

const PURPOSE = 'askwatch addresses of webhooks';

const MAX_WEBHOOKS = 10;

const EXAMPLE = 'Example: /monitor alerts on via=https://hooks.example.com/askwatch';

export type Webhooks = ReturnType<typeof createWebhooks>;

/** The webhooks that people register for a channel. A place of its own stores each one, with its address encrypted. */
export function createWebhooks(
  { store, channels }: { store: Pick<Store, 'key'>; channels: Channels },
  messenger: () => Messenger | undefined,
) {
  /** Addresses whose first post is under way, by channel. */
  const trying = new Map<string, string>();

  return {
    /** `undefined` if it was removed. */
    async addressOf(channel: string): Promise<string | undefined> {
      const webhook = await channels.webhookAt(placeKey({ platform: WEBHOOK, channel }));
      if (!webhook) return trying.get(channel);
      const stored = await store.key.read();
      const key = typeof stored === 'object' ? stored.key : '';
      const address = createEncryption(key, PURPOSE).decrypt(webhook.sealed, channel);
      if (address !== undefined) return address;
      const lost = 'The key of the webhook’s address is lost. Add the webhook again.';
      throw new DeliveryError(lost, { permanent: true, closed: true });
    },
    /**
     * Stores an address for the channel `from` once it has accepted a post with this title. Throws `CommandError`, with
     * nothing stored, if it hasn't. `insteadOf` names the platform that it stands in for.
     */
    async register(
      text: string,
      { from, title, insteadOf }: { from: Place; title: string; insteadOf?: string },
    ): Promise<{ place: Place; shown: string }> {
      const address = readWebhookAddress(text);
      if (!address) {
        throw new CommandError(`A webhook is an address that begins with https://. ${EXAMPLE}`);
      }
      const owner = placeKey(from);
      const place = placeOf(address, owner, insteadOf);
      const all = await channels.webhooksOf(owner);
      if (all.length >= MAX_WEBHOOKS && !all.some(({ key }) => key === placeKey(place))) {
        throw new CommandError(
          `This channel already has ${MAX_WEBHOOKS} webhooks. Remove one first: /monitor alerts off via=${all[0]?.shown}`,
        );
      }
      const { channel } = place;
      trying.set(channel, address.href);
      try {
        const card = textCard('info', title);
        await messenger()?.post({ channel, card, id: `test-${randomUUID()}`, attempted: false });
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        throw new CommandError(`${error.message} Nothing was changed.`);
      } finally {
        trying.delete(channel);
      }
      const encryption = createEncryption(await store.key.make(), PURPOSE);
      const sealed = encryption.encrypt(address.href, channel);
      const shown = maskedAddress(address);
      await channels.change(place, { webhook: { from: owner, sealed, shown, insteadOf } });
      return { place, shown };
    },
    /** Finds a webhook of a channel by its address, or by a part of what is shown of it. Throws `CommandError`. */
    async find(text: string, from: Place): Promise<{ place: Place; shown: string }> {
      const all = (await channels.webhooksOf(placeKey(from))).filter((one) => !one.insteadOf);
      const address = readWebhookAddress(text);
      const key = address && placeKey(placeOf(address, placeKey(from)));
      const exact = all.find((one) => one.key === key);
      const alike = all.filter(({ shown }) => shown.includes(text));
      const found = exact ?? (alike.length === 1 ? alike[0] : undefined);
      if (found) return found;
      throw new CommandError(
        all.length === 0
          ? `This channel has no webhooks. ${EXAMPLE}`
          : `No webhook of this channel is “${shortened(address ? maskedAddress(address) : text, 100)}”. It has ${all.map(({ shown }) => shown).join(', ')}.`,
      );
    },
  };
}

/** An address may be both a webhook and the fallback of a channel. */
const placeOf = (address: URL, owner: string, insteadOf?: string): Place => ({
  platform: WEBHOOK,
  channel: webhookChannel(address, insteadOf === undefined ? owner : `fallback ${owner}`),
});
