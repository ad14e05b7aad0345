import { setTimeout as pause } from 'node:timers/promises';
import { Events } from 'discord.js';
import type { Logger } from 'pino';
import type { Bot, Platform } from '../bot/platform.ts';
import { DeliveryError } from '../bot/shared/errors.ts';
import { openPlatformLimits, type PlatformLimits } from '../bot/shared/platform-limits.ts';
import { createAlerts } from './answers/alerts.ts';
import { type Conversations, createConversations } from './answers/conversations.ts';
import { forgetGone, listenForDeletions } from './answers/deletions.ts';
import { createEndAnswer, shownIn, tokenEncryption } from './answers/end-answer.ts';
import { createChannelApi, SNOWFLAKE } from './api/channel-api.ts';
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
import { createMissingPermissions, inviteLink } from './api/permissions.ts';
import { createRights } from './api/rights.ts';
import type { Shards } from './api/shards.ts';
import { handleAutocomplete } from './interactions/autocomplete.ts';
import { handleButton } from './interactions/buttons.ts';
import { createDrafts } from './interactions/drafts.ts';
import { handleForm } from './interactions/forms.ts';
import { handleMessage } from './interactions/messages.ts';
import { handleSlashCommand } from './interactions/slash-commands.ts';

/** How long answers under way may still be shown after the stop. */
const STOP_WAIT_MS = 3_000;

/** Discord commonly takes five edits in five seconds a channel, and alerts need some of them. */
const EDIT_INTERVAL_MS = 1_200;

/** An interaction's token lives 15 minutes; a minute is left for the last words. Source: Discord docs, "Followup Messages". */
const TOKEN_LIFE_MS = 14 * 60_000;

/** What the platform needs. */
export interface DiscordOptions {
  token: string;
  /** Registers the commands in this server only, where they appear at once; else everywhere. */
  guildId?: string;
  /** `https://discord.com/api` or another address that keeps its version 10; the gateway's address comes from there. */
  apiUrl: string;
  /** Whether the privileged intent is on: then threads of ours are followed without a mention. */
  messageContent: boolean;
  /** How many connections share the servers; as many as Discord recommends. */
  shards?: Shards;
  /** Shortest time between two edits of an answer that grows; 1,200. */
  editIntervalMs?: number;
  /** How long an answer is changed that belongs to an interaction; 14 minutes. */
  tokenLifeMs?: number;
  log: Logger;
  /** Called once when nothing can work any more, such as after the token was revoked. */
  onFatal: (error: Error) => void;
  /** The rate limits that Discord named earlier. */
  limits?: PlatformLimits;
}

/** Discord over its gateway. Nothing connects before `start`. */
export async function createDiscord(options: DiscordOptions): Promise<Platform> {
  const { token, guildId, apiUrl, messageContent, shards = 'auto', onFatal } = options;
  const { editIntervalMs = EDIT_INTERVAL_MS, tokenLifeMs = TOKEN_LIFE_MS } = options;
  const log = options.log.child({ platform: 'discord' }, { serializers: { err: loggedError } });
  const limits = options.limits ?? (await openPlatformLimits({ platform: 'discord', log }));
  const client = buildClient({ apiUrl, messageContent, shards, limits });
  const api = createChannelApi(client.rest, log);
  const missingPermissions = createMissingPermissions(client);
  const botId = () => client.user?.id ?? '';
  const alerts = createAlerts(api, { botId, log });
  const endAnswer = createEndAnswer({
    client,
    api,
    botToken: token,
    tokenLifeMs,
    log,
    conversations: () => conversations,
  });
  /** Interactions and messages that are still being answered. */
  const underWay = new Set<Promise<void>>();
  let connecting = false;
  let conversations: Conversations | undefined;
  let sentElsewhere = false;
  let stopping = false;

  function track(work: Promise<void>) {
    const tracked = work
      .catch((error: unknown) =>
        log.error({ err: error }, 'an interaction or a message could not be answered'),
      )
      .finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  function listen(bot: Bot) {
    conversations = createConversations({ bot, api, botId, log });
    const context = {
      bot,
      api,
      conversations,
      drafts: createDrafts(),
      deletions: listenForDeletions(client, { bot, log }),
      missingPermissions,
      rightsOf: createRights(client, { log }),
      editIntervalMs,
      tokenLifeMs,
      encryptToken: tokenEncryption(token).encrypt,
      log,
    };
    client.on(Events.InteractionCreate, (interaction) => {
      if (stopping) return;
      if (interaction.isChatInputCommand()) track(handleSlashCommand({ ...context, interaction }));
      else if (interaction.isButton()) track(handleButton({ ...context, interaction }));
      else if (interaction.isAutocomplete()) track(handleAutocomplete(context, interaction));
      else if (interaction.isModalSubmit()) track(handleForm(context, interaction));
    });
    client.on(Events.MessageCreate, (message) => {
      if (!stopping) track(handleMessage({ ...context, message }));
    });
  }

  /** Does something in a channel; what goes wrong there is a `DeliveryError`. */
  async function deliver<T>(channel: string, send: () => Promise<T>): Promise<T> {
    try {
      if (!SNOWFLAKE.test(channel)) {
        const sentence = `“${channel}” is no Discord channel id. Copy the id with a right click on the channel (Developer Mode on).`;
        throw new DeliveryError(sentence, { permanent: true });
      }
      return await send();
    } catch (error) {
      throw deliveryError(error, channel, missingPermissions(channel));
    }
  }

  return {
    name: 'discord',
    post: (alert) => deliver(alert.channel, () => alerts.post(alert)),
    update: (channel, posted, card) => deliver(channel, () => alerts.update(channel, posted, card)),
    announce: (line) => deliver(line.channel, () => alerts.announce(line)),
    endAnswer: (unfinished) => deliver(shownIn(unfinished).in, () => endAnswer(unfinished)),
    async start(bot) {
      logEvents(client, log);
      guardPackets(client, log);
      listen(bot);
      connecting = true;
      await connect(client, token, apiUrl);
      // Whoever stopped it meanwhile could not cut a connection that was not there yet.
      if (stopping) return await disconnect(client);
      watchConnection(client, onFatal);
      [sentElsewhere] = await Promise.all([
        warnOfInteractionsEndpoint(client.rest, log),
        registerCommands(client, bot.commands, { guildId, log }),
      ]);
      track(forgetGone(client, bot, { isStopping: () => stopping, log }));
    },
    hint() {
      const { application, guilds } = client;
      if (application && guilds.cache.size === 0) {
        return `connected, but in no server; add it: ${inviteLink(application.id)}`;
      }
      return sentElsewhere
        ? `connected, but hears no commands. ${INTERACTIONS_ENDPOINT_SET}`
        : undefined;
    },
    channelName(id) {
      const channel = client.channels.cache.get(id);
      return channel && 'name' in channel ? (channel.name ?? undefined) : undefined;
    },
    async stop() {
      if (stopping) return;
      stopping = true;
      await Promise.race([Promise.all(underWay), pause(STOP_WAIT_MS, undefined, { ref: false })]);
      if (connecting) await disconnect(client);
    },
  };
}
