import { setTimeout as pause } from 'node:timers/promises';
import { Events } from 'discord.js';
import type { Logger } from 'pino';
import type { Bot, Platform } from '../bot/platform.ts';
import { DeliveryError } from '../bot/shared/errors.ts';
import { openPlatformLimits, type PlatformLimits } from '../bot/shared/platform-limits.ts';
import { createAlerts } from './answers/alerts.ts';
import { type Conversations, createConversations } from './answers/conversations.ts';
import { forgetGone, listenForDeletions } from './answers/deletions.ts';
import { AnswerEnding, foundAt, tokenEncryption } from './answers/end-answer.ts';
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
import { deliveryError, loggedError } from './api/errors.ts';
import {
  INTERACTIONS_ENDPOINT_SET,
  warnOfInteractionsEndpoint,
} from './api/interactions-endpoint.ts';
import { createMissingPermissions, inviteLink } from './api/permissions.ts';
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

/** How long answers under way may still be shown after the stop. */
const STOP_WAIT_MS = 3_000;

/** Discord commonly takes five edits in five seconds a channel, and alerts need some of them. */
const EDIT_INTERVAL_MS = 1_200;

/** An interaction's token lives 15 minutes; a minute is left for the last words. Source: Discord docs, "Followup Messages". */
const TOKEN_LIFE_MS = 14 * 60_000;

/** Time for which the start waits for registering commands; after it Discord shows the ones of an earlier start. */
const REGISTER_WAIT_MS = 3_000;

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
  /** True while this process may show anything; called right before each request that does. */
  isHeld: () => boolean;
}

/** Discord over its gateway. Nothing connects before `start`. */
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
  /** Discord does not announce archived threads, so it is asked about those. */
  async function guildOf(id: string): Promise<string | undefined> {
    const known = client.channels.cache.get(id);
    if (known) return known.isDMBased() ? undefined : known.guildId;
    return await api.guildOf(id);
  }
  const alerts = createAlerts(api, { botId, guildOf, log });
  const ending = new AnswerEnding({
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
  const tokens = tokenEncryption(token);
  let sentElsewhere = false;
  let isPaused = false;
  let stopping = false;

  function track(work: Promise<void>) {
    const tracked = work
      .catch((error: unknown) =>
        // Without the lease nothing is shown from here, and the process that holds it answers.
        log[isHeld() ? 'error' : 'debug'](
          { err: error },
          'could not answer an interaction or a message',
        ),
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
      rightsOf: createRights(client, { log }),
      editIntervalMs,
      tokenLifeMs,
      unstored,
      encryptToken: tokens.encrypt,
      log,
    };
    listenForReopened(client, { bot, missingPermissions, log });
    client.on(Events.InteractionCreate, (interaction) => {
      if (isPaused) return;
      if (interaction.isChatInputCommand()) track(handleSlashCommand({ ...handling, interaction }));
      else if (interaction.isMessageContextMenuCommand())
        track(handleAskAbout({ ...handling, interaction }));
      else if (interaction.isButton()) track(handleButton({ ...handling, interaction }));
      else if (interaction.isAutocomplete()) track(handleAutocomplete(handling, interaction));
      else if (interaction.isModalSubmit()) track(handleForm(handling, interaction));
    });
    client.on(Events.MessageCreate, (message) => {
      if (!isPaused) track(handleMessage({ ...handling, message }));
    });
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
    update: (channel, posted, card) => deliver(channel, () => alerts.update(channel, posted, card)),
    linkTo: async (channel, posted) => await alerts.linkTo?.(channel, posted),
    announce: (line) => deliver(line.channel, () => alerts.announce(line)),
    readAround: createReadAround({ api, botId, missingPermissions }),
    readFile: createReadAttachment({ api, apiUrl }),
    endAnswer: (interrupted) => deliver(foundAt(interrupted).in, () => ending.end(interrupted)),
    async start(bot) {
      logEvents(client, log);
      guardPackets(client, log);
      listen(bot);
      connecting = true;
      await connect(client, token, apiUrl);
      // Whoever stopped it meanwhile could not cut a connection that was not there yet.
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
    hint() {
      const { application } = client;
      if (application && client.guilds.cache.size === 0) {
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
      isPaused = true;
      // Answers under way can't be shown any more without the lease.
      const waitMs = isHeld() ? STOP_WAIT_MS : 0;
      await Promise.race([Promise.all(underWay), pause(waitMs, undefined, { ref: false })]);
      if (connecting) await disconnect(client);
    },
  };
}
