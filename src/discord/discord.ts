import { setTimeout as pause } from 'node:timers/promises';
import { type BaseInteraction, type Client, Events } from 'discord.js';
import type { Logger } from 'pino';
import type { Bot, Platform } from '../bot/platform.ts';
import { DeliveryError } from '../bot/shared/errors.ts';
import { openPlatformLimits, type PlatformLimits } from '../bot/shared/platform-limits.ts';
import { createAlerts } from './answers/alerts.ts';
import { createConversations, type MessageConversations } from './answers/conversations.ts';
import { forgetGone, listenForDeletions } from './answers/deletions.ts';
import { AnswerEnding, foundAt, tokenEncryption } from './answers/end-answer.ts';
import { createReadAround } from './answers/read-around.ts';
import { listenForReopened } from './answers/reopened-channels.ts';
import { createReadAttachment } from './api/attachments.ts';
import { type ChannelApi, createChannelApi, SNOWFLAKE } from './api/channel-api.ts';
import {
  buildClient,
  connect,
  disconnect,
  guardPackets,
  logEvents,
  watchConnection,
} from './api/client.ts';
import { registerCommands } from './api/commands.ts';
import { deliveryError, loggedError } from './api/errors.ts';
import {
  INTERACTIONS_ENDPOINT_SET,
  warnOfInteractionsEndpoint,
} from './api/interactions-endpoint.ts';
import {
  createMissingPermissions,
  inviteLink,
  type MissingPermissions,
} from './api/permissions.ts';
import { createRights } from './api/rights.ts';
import type { Shards } from './api/shards.ts';
import { handleAskAbout } from './interactions/ask-about.ts';
import { handleAutocomplete } from './interactions/autocomplete.ts';
import { handleButton } from './interactions/buttons.ts';
import { handleForm } from './interactions/forms.ts';
import type { InteractionContext } from './interactions/interaction-context.ts';
import { handleMessage } from './interactions/messages.ts';
import { ChosenMessages, Drafts } from './interactions/remembered.ts';
import { handleSlashCommand } from './interactions/slash-commands.ts';

/** A stop waits this long for answers under way. */
const STOP_WAIT_MS = 3_000;

/** Discord usually accepts five edits in five seconds per channel, and alerts need some. */
const EDIT_INTERVAL_MS = 1_200;

/** A token lives 15 minutes; the last one is for the note. Source: Discord docs, "Followup Messages". */
const TOKEN_LIFE_MS = 14 * 60_000;

/** The start waits this long for the commands; until then Discord shows the ones of an earlier start. */
const REGISTER_WAIT_MS = 3_000;

export interface DiscordOptions {
  token: string;
  /** Registers the commands only in this server, where they appear at once. */
  guildId?: string;
  /** `https://discord.com/api` or another address with version 10, which also names the gateway. */
  apiUrl: string;
  /** True with the privileged intent: then the bot follows its threads without a mention. */
  messageContent: boolean;
  shards?: Shards;
  editIntervalMs?: number;
  tokenLifeMs?: number;
  log: Logger;
  /** Called once if nothing works any more, such as after the token was revoked. */
  onFatal: (error: Error) => void;
  /** The rate limits that Discord named earlier. */
  limits?: PlatformLimits;
  isHeld: () => boolean;
}

export async function createDiscord(options: DiscordOptions): Promise<Platform> {
  const { token, guildId, apiUrl, messageContent, shards = 'auto', isHeld, onFatal } = options;
  const { editIntervalMs = EDIT_INTERVAL_MS, tokenLifeMs = TOKEN_LIFE_MS } = options;
  const log = options.log.child({ platform: 'discord' }, { serializers: { err: loggedError } });
  const limits = options.limits ?? (await openPlatformLimits({ platform: 'discord', log }));
  const unstored = new Set<string>();
  const client = buildClient({ apiUrl, messageContent, shards, limits, isHeld, unstored });
  const api = createChannelApi(client.rest, log);
  const missingPermissions = createMissingPermissions(client);
  const botId = () => client.user?.id ?? '';
  const alerts = createAlerts(api, { botId, guildOf: (id) => guildOf(client, api, id), log });
  const ending = new AnswerEnding({
    client,
    api,
    botToken: token,
    tokenLifeMs,
    log,
    conversations: () => conversations,
  });
  const underWay = new Set<Promise<void>>();
  let connecting = false;
  let conversations: MessageConversations | undefined;
  const tokens = tokenEncryption(token);
  let sentElsewhere = false;
  let isPaused = false;
  let stopping = false;

  function track(work: Promise<void>) {
    const tracked = work
      .catch((error: unknown) =>
        // Without the lease this process shows nothing, and the holder answers.
        log[isHeld() ? 'error' : 'debug'](
          { err: error },
          'could not answer an interaction or a message',
        ),
      )
      .finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  function handlingFor(bot: Bot): InteractionContext {
    conversations = createConversations({ bot, api, botId, log });
    return {
      bot,
      api,
      conversations,
      drafts: new Drafts(),
      chosen: new ChosenMessages(),
      deletions: listenForDeletions(client, { bot, log }),
      missingPermissions,
      rightsOf: createRights(client, { log }),
      editIntervalMs,
      tokenLifeMs,
      unstored,
      encryptToken: tokens.encrypt,
      log,
    };
  }

  const deliver = <T>(channel: string, send: () => Promise<T>) =>
    deliverTo(channel, { missingPermissions, send });

  return {
    name: 'discord',
    post: (alert) => deliver(alert.channel, () => alerts.post(alert)),
    update: (channel, posted, card) => deliver(channel, () => alerts.update(channel, posted, card)),
    linkTo: async (channel, posted) => await alerts.linkTo?.(channel, posted),
    announce: (line) => deliver(line.channel, () => alerts.announce(line)),
    readAround: createReadAround({ api, botId, missingPermissions }),
    readFile: createReadAttachment({ api, apiUrl }),
    endAnswer: (interrupted) => deliver(foundAt(interrupted).in, () => ending.end(interrupted)),
    async start(bot) {
      logEvents(client, log);
      guardPackets(client, log);
      const handling = handlingFor(bot);
      listenForReopened(client, { bot, missingPermissions, log });
      client.on(Events.InteractionCreate, (interaction) => {
        if (!isPaused) track(handleInteraction(handling, interaction));
      });
      client.on(Events.MessageCreate, (message) => {
        if (!isPaused) track(handleMessage({ ...handling, message }));
      });
      connecting = true;
      await connect(client, token, apiUrl);
      // A stop in the meantime could not close this connection.
      if (stopping) return await disconnect(client);
      watchConnection(client, onFatal);
      const registered = registerCommands(client, bot.commands, { guildId, log });
      [sentElsewhere] = await Promise.all([
        warnOfInteractionsEndpoint(client.rest, log),
        Promise.race([registered, pause(REGISTER_WAIT_MS, undefined, { ref: false })]),
      ]);
      registered.catch((error: Error) => {
        if (!stopping) onFatal(error);
      });
      track(forgetGone(client, bot, { isStopping: () => stopping, log }));
    },
    async pause() {
      isPaused = true;
    },
    hint: () => hintFor(client, sentElsewhere),
    channelName(id) {
      const channel = client.channels.cache.get(id);
      return channel && 'name' in channel ? (channel.name ?? undefined) : undefined;
    },
    async stop() {
      if (stopping) return;
      stopping = true;
      isPaused = true;
      // Answers under way can't be shown any more without the lease.
      const waitMs = isHeld() ? STOP_WAIT_MS : 0;
      await Promise.race([Promise.all(underWay), pause(waitMs, undefined, { ref: false })]);
      if (connecting) await disconnect(client);
    },
  };
}

/** Does something in a channel. Throws a `DeliveryError`. */
async function deliverTo<T>(
  channel: string,
  { missingPermissions, send }: { missingPermissions: MissingPermissions; send: () => Promise<T> },
): Promise<T> {
  try {
    if (!SNOWFLAKE.test(channel)) {
      const sentence = `“${channel}” isn’t a Discord channel id. With Developer Mode on, right-click the channel to copy its id.`;
      throw new DeliveryError(sentence, { permanent: true });
    }
    return await send();
  } catch (error) {
    throw deliveryError(error, channel, missingPermissions(channel));
  }
}

async function handleInteraction(handling: InteractionContext, interaction: BaseInteraction) {
  if (interaction.isChatInputCommand()) await handleSlashCommand({ ...handling, interaction });
  else if (interaction.isMessageContextMenuCommand()) {
    await handleAskAbout({ ...handling, interaction });
  } else if (interaction.isButton()) await handleButton({ ...handling, interaction });
  else if (interaction.isAutocomplete()) await handleAutocomplete(handling, interaction);
  else if (interaction.isModalSubmit()) await handleForm(handling, interaction);
}

/** Discord doesn't announce archived threads, so they need a request. */
async function guildOf(client: Client, api: ChannelApi, id: string): Promise<string | undefined> {
  const known = client.channels.cache.get(id);
  if (known) return known.isDMBased() ? undefined : known.guildId;
  return await api.guildOf(id);
}

function hintFor({ application, guilds }: Client, sentElsewhere: boolean): string | undefined {
  if (application && guilds.cache.size === 0) {
    return `connected, but not in any server; add it: ${inviteLink(application.id)}`;
  }
  return sentElsewhere
    ? `connected, but gets no commands. ${INTERACTIONS_ENDPOINT_SET}`
    : undefined;
}
