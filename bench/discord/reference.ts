// The best that discord.js can do: a bare client that defers every command. The bench starts it with the address of its fake Discord
// and a token.
import { Client, Events, GatewayIntentBits } from 'discord.js';

const [, , api = '', token = ''] = process.argv;

const client = new Client({ intents: [GatewayIntentBits.Guilds], rest: { api } });
client.on(Events.InteractionCreate, async (interaction) => {
  if (interaction.isChatInputCommand()) await interaction.deferReply();
});
// An error would leave the bench waiting; with its end the bench says what was the matter.
client.on(Events.Error, (error) => {
  throw error;
});
client.once(Events.ClientReady, () => {
  process.stdout.write(`connected, process ${process.pid}.\n`);
});
process.once('SIGTERM', () => process.exit(0));
// The bench holds the other end: when it is gone, so is this.
process.stdin.resume().once('end', () => process.exit(0));
await client.login(token);
