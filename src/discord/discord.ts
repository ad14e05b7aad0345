import { setTimeout as pause } from 'node:timers/promises';
import { type Client, Events } from 'discord.js';
import type { Logger } from 'pino';
import type { Bot, Platform } from '../bot/platform.ts';
import { DeliveryError } from '../bot/shared/errors.ts';
import { openPlatformLimits, type PlatformLimits } from '../bot/shared/platform-limits.ts';
import { createAlerts } from './answers/alerts.ts';
import { type Conversations, createConversations } from './answers/conversations.ts';
import { forgetGone, listenForDeletions } from './answers/deletions.ts';
import { createEndAnswer, shownIn, tokenEncryption } from './answers/end-answer.ts';
import { createReadAround } from './answers/read-around.ts';
import { listenForReopened } from './answers/reopened-channels.ts';
import { createReadAttachment } from './api/attachments.ts';
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
import { deliveryError, isRefusal, loggedError } from './api/errors.ts';
import { announcedGuilds } from './api/guilds.ts';
import {
  INTERACTIONS_ENDPOINT_SET,
  warnOfInteractionsEndpoint,
} from './api/interactions-endpoint.ts';
import { leasedShards } from './api/leased-shards.ts';
import { createMissingPermissions, inviteLink } from './api/permissions.ts';
import { identifyInTurn, type Replicas } from './api/replicas.ts';
import { createRights } from './api/rights.ts';
import type { Shards } from './api/shards.ts';
import { handleAskAbout } from './interactions/ask-about.ts';
import { handleAutocomplete } from './interactions/autocomplete.ts';
import { handleButton } from './interactions/buttons.ts';
import { createChosenMessages } from './interactions/chosen-messages.ts';
import { createDrafts } from './interactions/drafts.ts';
import { handleForm } from './interactions/forms.ts';
import type { InteractionContext } from './interactions/interaction-context.ts';
import { handleMessage } from './interactions/messages.ts';
import { handleSlashCommand } from './interactions/slash-commands.ts';
import { takeOver } from './interactions/take-over.ts';

/** How long answers under way may still be shown after the stop. */
const STOP_WAIT_MS = 3_000;

/** Discord commonly takes five edits in five seconds a channel, and alerts need some of them. */
const EDIT_INTERVAL_MS = 1_200;

/** An interaction's token lives 15 minutes; a minute is left for the last words. Source: Discord docs, "Followup Messages". */
const TOKEN_LIFE_MS = 14 * 60_000;

/** Longer than Discord takes to come back by itself. */
const AWAY_LIMIT_MS = 30_000;

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
  /** What it shares with the other processes that are the same bot; absent where there are none. */
  replicas?: Replicas;
  /** How long a shard that this process holds may be without a connection until another one gets it; 30 s. */
  awayLimitMs?: number;
}

/** Discord over its gateway. Nothing connects before `start`. */
export async function createDiscord(options: DiscordOptions): Promise<Platform> {
  const { token, guildId, apiUrl, messageContent, shards = 'auto', onFatal } = options;
  const { editIntervalMs = EDIT_INTERVAL_MS, tokenLifeMs = TOKEN_LIFE_MS } = options;
  const { replicas, awayLimitMs = AWAY_LIMIT_MS } = options;
  const log = options.log.child({ platform: 'discord' }, { serializers: { err: loggedError } });
  const limits = options.limits ?? (await openPlatformLimits({ platform: 'discord', log }));
  const leased =
    replicas && leasedShards({ replicas, client: () => client, awayLimitMs, onConnected, log });
  const ws = replicas &&
    leased && {
      buildStrategy: leased.buildStrategy,
      buildIdentifyThrottler: identifyInTurn(replicas, { log }),
    };
  const client: Client = buildClient({ apiUrl, messageContent, shards, limits, ...(ws && { ws }) });
  const guilds = leased?.guilds ?? announcedGuilds(client);
  const api = createChannelApi(client.rest, log);
  const missingPermissions = createMissingPermissions(client);
  const botId = () => client.user?.id ?? '';
  /** From what this process was told of, else from Discord: another one may hear of that server. */
  async function guildOf(id: string): Promise<string | undefined> {
    const known = client.channels.cache.get(id);
    if (known) return known.isDMBased() ? undefined : known.guildId;
    return await api.guildOf(id);
  }
  const alerts = createAlerts(api, { botId, guildOf, log });
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
  let context: InteractionContext | undefined;
  const tokens = tokenEncryption(token);
  let sentElsewhere = false;
  let stopping = false;
  let started: Bot | undefined;
  let isOutside = false;

  function track(work: Promise<void>) {
    const tracked = work
      .catch((error: unknown) =>
        log.error({ err: error }, 'could not answer an interaction or a message'),
      )
      .finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  function listen(bot: Bot) {
    conversations = createConversations({ bot, api, botId, log });
    const handling: InteractionContext = {
      bot,
      api,
      conversations,
      drafts: createDrafts(),
      chosen: createChosenMessages(),
      deletions: listenForDeletions(client, { bot, log }),
      missingPermissions,
      rightsOf: createRights(client, { guilds, log }),
      editIntervalMs,
      tokenLifeMs,
      encryptToken: tokens.encrypt,
      log,
    };
    context = handling;
    listenForReopened(client, { bot, missingPermissions, log });
    client.on(Events.InteractionCreate, (interaction) => {
      if (stopping) return;
      if (interaction.isChatInputCommand()) track(handleSlashCommand({ ...handling, interaction }));
      else if (interaction.isMessageContextMenuCommand())
        track(handleAskAbout({ ...handling, interaction }));
      else if (interaction.isButton()) track(handleButton({ ...handling, interaction }));
      else if (interaction.isAutocomplete()) track(handleAutocomplete(handling, interaction));
      else if (interaction.isModalSubmit()) track(handleForm(handling, interaction));
    });
    client.on(Events.MessageCreate, (message) => {
      if (!stopping) track(handleMessage({ ...handling, message }));
    });
  }

  /** Of several processes, whoever has the first shard does what is to be done once. */
  function onConnected(shard: number) {
    if (shard !== 0 || !started) return;
    const { commands } = started;
    registerCommands(client, commands, { guildId, log }).catch(onFatal);
    track(forgetGone(client, started, { guilds, isStopping: () => stopping, log }));
  }

  /** Does something in a channel; what goes wrong there is a `DeliveryError`. */
  async function deliver<T>(channel: string, send: () => Promise<T>): Promise<T> {
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

  return {
    name: 'discord',
    post: (alert) => deliver(alert.channel, () => alerts.post(alert)),
    update: (channel, posted, card, isOurs) =>
      deliver(channel, () => alerts.update(channel, posted, card, isOurs)),
    linkTo: async (channel, posted) => await alerts.linkTo?.(channel, posted),
    announce: (line) => deliver(line.channel, () => alerts.announce(line)),
    readAround: createReadAround({ api, botId, missingPermissions }),
    readFile: createReadAttachment({ api, apiUrl }),
    endAnswer: (unfinished) => deliver(shownIn(unfinished).in, () => endAnswer(unfinished)),
    async takeOver(takenOver) {
      const { channel } = takenOver.invocation.place;
      if (!context || stopping) {
        throw new DeliveryError('Discord is not connected.', { permanent: false });
      }
      const taking = { context, client, guilds, decryptToken: tokens.decrypt };
      const shown = takeOver(taking, takenOver);
      track(shown.catch(() => {}));
      try {
        await shown;
      } catch (error) {
        if (!isRefusal(error)) throw deliveryError(error, channel, missingPermissions(channel));
        log.warn({ err: error, channel }, 'can no longer show what another process left');
      }
    },
    async start(bot) {
      logEvents(client, log);
      guardPackets(client, log);
      listen(bot);
      connecting = true;
      started = bot;
      await connect(client, token, apiUrl);
      // Whoever stopped it meanwhile could not cut a connection that was not there yet.
      if (stopping) return await disconnect(client);
      watchConnection(client, onFatal);
      [sentElsewhere, isOutside] = await Promise.all([
        warnOfInteractionsEndpoint(client.rest, log),
        guilds.ids().then(
          (ids) => ids.length === 0,
          () => false,
        ),
        leased ?? registerCommands(client, bot.commands, { guildId, log }),
      ]);
      if (leased) return;
      track(forgetGone(client, bot, { guilds, isStopping: () => stopping, log }));
    },
    hint() {
      const { application } = client;
      if (application && isOutside && client.guilds.cache.size === 0) {
        return `connected, but not in any server; add it: ${inviteLink(application.id)}`;
      }
      return sentElsewhere
        ? `connected, but gets no commands. ${INTERACTIONS_ENDPOINT_SET}`
        : undefined;
    },
    channelName(id) {
      const channel = client.channels.cache.get(id);
      return channel && 'name' in channel ? (channel.name ?? undefined) : undefined;
    },
    async stop() {
      if (stopping) return;
      stopping = true;
      // Others go on at once with what is said from now on.
      await leased?.close();
      await Promise.race([Promise.all(underWay), pause(STOP_WAIT_MS, undefined, { ref: false })]);
      if (connecting) await disconnect(client);
    },
  };
}
