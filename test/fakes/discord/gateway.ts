import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { GatewayIntentBits, GatewayOpcodes, MessageFlags } from 'discord.js';
import { type WebSocket, WebSocketServer } from 'ws';
import { createShardRules, guildIdOf, type Shard, serves, shardOf } from './shards.ts';
import type { DiscordState, FakeMessage } from './state.ts';
import { guildOf, inGuildOf, wireMessage } from './wire.ts';

interface Session {
  id: string;
  socket: WebSocket | undefined;
  sinceMs: number;
  sequence: number;
  intents: number;
  shard: Shard;
  /** Every dispatch, for sessions that resume. */
  sent: Array<{ op: number; t: string; s: number; d: unknown }>;
}

export interface GatewayOptions {
  state: DiscordState;
  token(): string;
  /** The application has the Message Content Intent. */
  messageContentAllowed: boolean;
  /** Address of the gateway. */
  url(): string;
}

/** The gateway: identify, resume, heartbeats, dispatches by intent, and the ways it breaks. */
export function createGateway(options: GatewayOptions) {
  const { state } = options;
  const sessions = new Map<string, Session>();
  const server = new WebSocketServer({ noServer: true });
  /** Connections that look open, and through which nothing comes. */
  const silent = new WeakSet<WebSocket>();
  const rules = createShardRules();
  let identified = 0;
  let resumed = 0;
  function dispatchTo(session: Session, t: string, d: unknown) {
    session.sequence += 1;
    const payload = { op: GatewayOpcodes.Dispatch, t, s: session.sequence, d };
    session.sent.push(payload);
    if (session.socket && !silent.has(session.socket)) session.socket.send(JSON.stringify(payload));
  }

  function accept(socket: WebSocket) {
    let session: Session | undefined;
    const send = (op: number, d: unknown) =>
      socket.send(JSON.stringify({ op, d, s: null, t: null }));
    send(GatewayOpcodes.Hello, { heartbeat_interval: gateway.heartbeatMs });
    socket.on('close', (code) => {
      if (session?.socket !== socket) return;
      session.socket = undefined;
      // Source: Discord docs, "Disconnecting": these end the session.
      if (code === 1_000 || code === 1_001) sessions.delete(session.id);
    });
    socket.on('message', (data) => {
      if (silent.has(socket)) return;
      const { op, d } = JSON.parse(String(data)) as { op: number; d: Record<string, unknown> };
      if (op === GatewayOpcodes.Heartbeat) send(GatewayOpcodes.HeartbeatAck, null);
      else if (op === GatewayOpcodes.Identify) session = identify(socket, d);
      else if (op === GatewayOpcodes.Resume) {
        session = sessions.get(String(d.session_id));
        if (d.token !== options.token()) return socket.close(4004, 'Authentication failed.');
        if (session && gateway.cutShards.has(session.shard.id)) return socket.terminate();
        if (!session) return send(GatewayOpcodes.InvalidSession, false);
        // A session has one connection.
        const earlier = session.socket;
        session.socket = socket;
        if (earlier && earlier !== socket) earlier.close(4_000, 'Resumed elsewhere.');
        for (const missed of session.sent.filter(({ s }) => s > Number(d.seq))) {
          socket.send(JSON.stringify(missed));
        }
        dispatchTo(session, 'RESUMED', {});
        resumed += 1;
      } else if (op !== GatewayOpcodes.PresenceUpdate) socket.close(4001, 'Unknown opcode');
    });
  }

  function identify(socket: WebSocket, d: Record<string, unknown>): Session | undefined {
    const intents = Number(d.intents);
    if (d.token !== options.token()) {
      socket.close(4004, 'Authentication failed.');
      return undefined;
    }
    const privileged =
      GatewayIntentBits.GuildMembers |
      GatewayIntentBits.GuildPresences |
      (options.messageContentAllowed ? 0 : GatewayIntentBits.MessageContent);
    if ((intents & privileged) !== 0) {
      socket.close(4014, 'Disallowed intent(s).');
      return undefined;
    }
    const shard = shardOf(d.shard);
    if (gateway.cutShards.has(shard.id)) {
      socket.terminate();
      return undefined;
    }
    const refused = rules.refusalOf(shard, gateway);
    if (refused === 'later') {
      socket.send(JSON.stringify({ op: GatewayOpcodes.InvalidSession, d: false }));
      return undefined;
    }
    if (refused) {
      socket.close(refused.code, refused.reason);
      return undefined;
    }
    const guilds = state.guilds().filter((guild) => serves(shard, guild));
    const id = randomBytes(16).toString('hex');
    const sinceMs = performance.now();
    const session: Session = { id, socket, sinceMs, sequence: 0, intents, shard, sent: [] };
    sessions.set(id, session);
    dispatchTo(session, 'READY', {
      v: 10,
      user: { ...state.bot, verified: true, mfa_enabled: false, flags: 0, email: null },
      guilds: guilds.map((guild) => ({ id: guild, unavailable: true })),
      session_id: id,
      resume_gateway_url: options.url(),
      shard: [shard.id, shard.count],
      application: { id: state.applicationId, flags: 1 << 19 },
      private_channels: [],
    });
    for (const guild of gateway.guildUnavailable ? [] : guilds) {
      dispatchTo(session, 'GUILD_CREATE', guildOf(state, guild));
    }
    identified += 1;
    return session;
  }

  const gateway = {
    /** Heartbeat interval sent to clients. */
    heartbeatMs: 41_250,
    /** While true the server stays unavailable after READY. */
    guildUnavailable: false,
    /** While true new connections are refused. */
    refuses: false,
    /** Recommended and minimum number of shards. */
    recommendedShards: 1,
    leastShards: 1,
    /** Shards that may identify at the same time. */
    maxConcurrency: 1,
    /** Remaining identifications of the day. */
    sessionsRemaining: 999,
    /** The connections of these are cut as soon as they say whose they are. */
    cutShards: new Set<number>(),
    /** The number of clients that identified too early. */
    hasty: () => rules.hasty(),
    /** The shards that are connected now. */
    shards: () =>
      [...sessions.values()]
        .filter(({ socket }) => socket !== undefined)
        .map(({ shard }) => shard.id)
        .sort(),
    /** Numbers of identifications and resumes. */
    counts: () => ({ identified, resumed }),
    connected: () => [...sessions.values()].filter(({ socket }) => socket !== undefined).length,
    /** When the newest of the open sessions began; undefined without any. */
    sinceMs: () => {
      const open = [...sessions.values()].filter(({ socket }) => socket !== undefined);
      return open.length === 0 ? undefined : Math.max(...open.map((one) => one.sinceMs));
    },
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
      if (gateway.refuses) return void socket.destroy();
      server.handleUpgrade(request, socket, head, (opened) => accept(opened));
    },
    dispatch(t: string, d: unknown, intent = 0) {
      const guild = guildIdOf(t, d);
      for (const session of sessions.values()) {
        if (!serves(session.shard, guild)) continue;
        if (intent === 0 || (session.intents & intent) !== 0) dispatchTo(session, t, d);
      }
    },
    /** Sends a message event. Without the privileged intent, it has no content unless the bot is mentioned. */
    announce(t: 'MESSAGE_CREATE' | 'MESSAGE_UPDATE', message: FakeMessage) {
      if ((message.flags & MessageFlags.Ephemeral) !== 0) return;
      const channel = state.channels.get(message.channel_id);
      const inGuild = channel?.guild_id !== undefined;
      const need = inGuild ? GatewayIntentBits.GuildMessages : GatewayIntentBits.DirectMessages;
      for (const session of sessions.values()) {
        if ((session.intents & need) === 0) continue;
        if (!serves(session.shard, channel?.guild_id)) continue;
        const readable =
          !inGuild ||
          (session.intents & GatewayIntentBits.MessageContent) !== 0 ||
          message.author.id === state.bot.id ||
          message.mentions.some(({ id }) => id === state.bot.id);
        // A reply to a slash command's response stays unreadable even when it pings.
        const answered = state.messages.get(message.message_reference?.message_id ?? '');
        const named = message.content.includes(`<@${state.bot.id}>`);
        const hidden = !readable || (answered?.webhook_id !== undefined && inGuild && !named);
        const keeps = (session.intents & GatewayIntentBits.MessageContent) !== 0;
        const data = {
          ...wireMessage(state, message),
          channel_type: channel?.type,
          ...(inGuild ? inGuildOf(state, message, channel.guild_id ?? '') : {}),
        };
        const blank = { content: '', embeds: [], components: [], attachments: [] };
        dispatchTo(session, t, hidden && !keeps ? { ...data, ...blank } : data);
      }
    },
    /** Sends anything at all through the connections of now, as it is. */
    frame(text: string) {
      for (const socket of server.clients) socket.send(text);
    },
    /** Current connections stay open but send nothing any more, neither events nor acknowledgements. */
    silence() {
      for (const socket of server.clients) silent.add(socket);
    },
    /** The server is down at Discord, or there again. */
    setAvailable(available: boolean) {
      gateway.guildUnavailable = !available;
      if (available) gateway.dispatch('GUILD_CREATE', guildOf(state));
      else gateway.dispatch('GUILD_DELETE', { id: state.guildId, unavailable: true });
    },
    /** Asks to reconnect and resume. */
    requestReconnect() {
      for (const { socket } of sessions.values()) {
        socket?.send(JSON.stringify({ op: GatewayOpcodes.Reconnect, d: null }));
      }
    },
    /** Ends the session, so the client must identify again. */
    /** Cuts the connection of one shard, or closes it with a code. */
    dropShard(id: number, code?: number) {
      for (const { shard, socket } of sessions.values()) {
        if (shard.id === id) code === undefined ? socket?.terminate() : socket?.close(code);
      }
    },
    /** Cuts the connection as a broken network does, or closes it with a code. */
    drop(code?: number) {
      for (const socket of server.clients)
        code === undefined ? socket.terminate() : socket.close(code);
    },
    close() {
      for (const socket of server.clients) socket.terminate();
      server.close();
    },
  };
  return gateway;
}
