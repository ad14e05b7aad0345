import { MessageFlags } from 'discord.js';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { testDelivery } from '../../helpers/platform-contract/delivery.ts';

testDelivery(
  async () => {
    // Discord forgets a nonce after a few minutes.
    const { discord, platform, lines } = await runDiscord({ fake: { nonceWindowMs: 0 } });
    const posts = { method: 'POST', path: /messages$/ };
    const { id: channel } = discord.general;
    const seen = ({ id, content, embeds, rang }: FakeMessage) => ({
      ...{ id, text: `${content}${embeds[0]?.title ?? ''}`, notified: rang },
    });
    return {
      ...{ channel, platform, lines, person: `@${discord.alice.id}` },
      group: discord.addRole({ name: 'on call', mentionable: true }).id,
      shown: () => discord.channel(channel).map(seen),
      replies: (message) =>
        discord
          .channel(channel)
          .filter(({ message_reference: to }) => to?.message_id === message)
          .map((reply) => ({
            ...seen(reply),
            quiet: (reply.flags & MessageFlags.SuppressNotifications) !== 0,
          })),
      loseAnswer(how) {
        const fault = how === 'drop' ? { drop: true } : { status: 502 };
        discord.fail({ ...posts, applied: true, ...fault });
      },
      failLook: () => discord.fail({ ...posts, method: 'GET', status: 503 }),
      remove: discord.remove,
    };
  },
  {
    notGroups: [
      ...['everyone', '@everyone', 'here', '@here', 'S0614TZR7', '1234', ''],
      '12345678901234567> @everyone <@&1',
    ],
  },
);
