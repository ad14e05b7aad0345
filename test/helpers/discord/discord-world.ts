import { MessageFlags } from 'discord.js';
import { onTestFinished } from 'vitest';
import { ASK_ABOUT } from '../../../src/bot/commands/ask-about.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { shownIn } from '../../fakes/discord/forms.ts';
import type { FakeInteraction } from '../../fakes/discord/interactions.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startTestBot } from '../bot.ts';
import type { ChatWorld, SeenMessage, WorldOptions } from '../platform-contract/world.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { startPlatform } from './start-platform.ts';

/** Every text of an embed, in order. */
const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsOf);
};

export async function openDiscordWorld(options: WorldOptions = {}): Promise<ChatWorld> {
  const { alerts = false, folderFor, ...botOptions } = options;
  const discord = await startDiscord({ messageContentAllowed: true, limit: false });
  const place = { platform: 'discord', channel: discord.general.id };
  const users = [discord.alice, discord.addUser('bob')] as const;
  const provider = await startModelProvider({ models: options.models });
  const service = options.service ?? (await startMonitoringService({ limit: false }));
  onTestFinished(() => Promise.all([provider.close(), service.close()]).then(() => {}));
  const folder = (await folderFor?.(place)) ?? (await temporaryFolder());
  const settings = {
    ...(alerts ? { alertPollMs: 50, alertPlaces: [place] } : { alertPollMs: 600_000 }),
    ...options.settings,
  };
  let gesture: FakeInteraction | undefined;

  async function start() {
    const bot = await startTestBot({ ...botOptions, settings, provider, service, folder });
    const { platform, lines } = await startPlatform(discord, bot.bot, { messageContent: true });
    await bot.bot.start([platform]);
    return { platform, lines, bot };
  }
  let running = await start();

  const messageOf = (id: string): FakeMessage => {
    const message = discord.messages().find((one) => one.id === id);
    if (!message) throw new Error(`There is no message ${id}.`);
    return message;
  };
  /** A thread is a channel with the id of the message above it. */
  const threadOf = (id: string) =>
    discord.threads().find((one) => one.id === id) ?? discord.openThread(messageOf(id));
  const seenOf = (message: FakeMessage): SeenMessage => ({
    id: message.id,
    thread: message.channel_id === discord.general.id ? undefined : message.channel_id,
    isPrivate: (message.flags & MessageFlags.Ephemeral) !== 0,
    isOurs: message.author.id === discord.bot.id,
    text: [message.content, ...textsOf(message.embeds)].join('\n'),
    buttons: message.components.flatMap((row) => row.components.map(({ label }) => label ?? '')),
    files: message.attachments.map(({ filename, bytes }) => ({
      name: filename,
      text: bytes.toString(),
    })),
    notified: message.rang,
  });
  return {
    place,
    provider,
    service,
    people: ['Alice', 'Bob'],
    get bot() {
      return running.bot.bot;
    },
    get lines() {
      return running.lines;
    },
    setManager(by, isManager) {
      if (isManager) discord.grant(users[by], 'ManageGuild');
      else discord.takeRoles(users[by]);
    },
    command(name, values = {}, by = 0) {
      gesture = discord.slash(name, values, { user: users[by] });
    },
    say(text, { thread, by = 0, toBot = false, files } = {}) {
      const message = discord.say(text, {
        user: users[by],
        mention: toBot,
        ...(thread !== undefined && { channel: threadOf(thread) }),
        files: files?.map(({ mediaType, ...file }) => ({ ...file, contentType: mediaType })),
      });
      return message.id;
    },
    messages: () => discord.messages().map(seenOf),
    press(id, label, by = 0) {
      gesture = discord.press(messageOf(id), label, { user: users[by] });
    },
    chooseToAskAbout(id) {
      gesture = discord.chooseFor(messageOf(id), ASK_ABOUT.label);
    },
    form() {
      const form = gesture?.form;
      if (!form) return undefined;
      const inputs = form.components.filter(({ component }) => component);
      return {
        title: form.title,
        inputs: Object.fromEntries(
          inputs.map(({ component }) => [component.custom_id, shownIn(component)]),
        ),
      };
    },
    submit(values = {}) {
      if (!gesture) throw new Error('No form was opened.');
      gesture = discord.send(gesture, values);
    },
    repeat() {
      if (gesture) discord.repeat(gesture);
    },
    async restart() {
      await running.platform.stop();
      await running.bot.stop();
      running = await start();
    },
    stop: () => running.platform.stop(),
  };
}
