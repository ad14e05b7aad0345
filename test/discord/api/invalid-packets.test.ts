import { GatewayDispatchEvents } from 'discord.js';
import { expect, test } from 'vitest';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';

/** Odd values in the place of an event's data. */
const ODD = [
  undefined,
  null,
  0,
  'x',
  [],
  {},
  { id: null },
  { id: 1, guild_id: 1, channel_id: 1 },
  { id: '1', type: 2, data: null, user: null, token: null },
  { id: '1', type: 3, message: null, data: { custom_id: null }, member: null },
  { id: '1', guild_id: '1', channel_id: '1', author: { id: '1' }, content: null },
  {
    id: '9'.repeat(5_000),
    channel_id: '9'.repeat(5_000),
    guild_id: 'x',
    author: {},
    mentions: null,
  },
];

/** The first of a session: they are read by the connection itself, which starts again where it cannot. */
const OF_THE_CONNECTION = new Set<string>([
  GatewayDispatchEvents.Ready,
  GatewayDispatchEvents.Resumed,
]);

test('whatever event comes from Discord, the next question is answered, and no error is left to nobody', async () => {
  const { discord, fatal, lines } = await runDiscord();
  const events = [...Object.values(GatewayDispatchEvents), 'NOTHING_KNOWN', null, 7];
  for (const t of events) {
    if (OF_THE_CONNECTION.has(String(t))) continue;
    for (const d of ODD) discord.gateway.frame(JSON.stringify({ op: 0, t, s: 1, d }));
  }
  for (const text of ['{', '', 'null', '0', '"x"', '[]', '{}', '{"op":null}', '{"op":99}']) {
    discord.gateway.frame(text);
  }
  const said = discord.say('Anybody there?', { mention: true });
  await eventually(() =>
    discord.channel(said.id).find(({ content }) => content.includes('-# test-model')),
  );
  expect(fatal).toEqual([]);
  expect(lines.some(({ msg }) => String(msg).includes('ignoring it'))).toBe(true);
});
