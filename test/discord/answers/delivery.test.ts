import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { testDelivery } from '../../helpers/platform-contract/delivery.ts';

testDelivery(
  async () => {
    // Discord forgets a nonce after a few minutes.
    const { discord, platform, lines } = await runDiscord({ fake: { nonceWindowMs: 0 } });
    const posts = { method: 'POST', path: /messages$/ };
    const { id: channel } = discord.general;
    return {
      ...{ channel, platform, lines, person: `@${discord.alice.id}` },
      group: discord.addRole({ name: 'on call', mentionable: true }).id,
      shown: () =>
        discord.channel(channel).map(({ id, content, embeds, rang }) => ({
          ...{ id, text: `${content}${embeds[0]?.title ?? ''}`, notified: rang },
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
