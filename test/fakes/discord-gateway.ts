import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ChannelType, GatewayIntentBits, GatewayOpcodes, MessageFlags } from 'discord.js';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  BOT_PERMISSIONS,
  type DiscordState,
  type FakeMessage,
  type FakeRole,
} from './discord-state.ts';

interface Session {
  id: string;
  socket: WebSocket | undefined;
  sequence: number;
  intents: number;
  /** Every dispatch, for those who resume. */
  sent: Array<{ op: number; t: string; s: number; d: unknown }>;
}

/** What the gateway needs of the rest of the fake. */
export interface GatewayOptions {
  state: DiscordState;
  token(): string;
  /** Whether Message Content Intent is on for the application. */
  messageContentAllowed: boolean;
  url(): string;
}

/** The gateway: identify, resume, heartbeats, dispatches by intent, and the ways it breaks. */
export function createGateway(options: GatewayOptions) {
  const { state } = options;
  const sessions = new Map<string, Session>();
  const server = new WebSocketServer({ noServer: true });
  /** Connections that look open, and through which nothing comes. */
  const silent = new WeakSet<WebSocket>();
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
    socket.on('close', () => {
      if (session?.socket === socket) session.socket = undefined;
    });
    socket.on('message', (data) => {
      if (silent.has(socket)) return;
      const { op, d } = JSON.parse(String(data)) as { op: number; d: Record<string, unknown> };
      if (op === GatewayOpcodes.Heartbeat) send(GatewayOpcodes.HeartbeatAck, null);
      else if (op === GatewayOpcodes.Identify) session = identify(socket, d);
      else if (op === GatewayOpcodes.Resume) {
        session = sessions.get(String(d.session_id));
        if (d.token !== options.token()) return socket.close(4004, 'Authentication failed.');
        if (!session) return send(GatewayOpcodes.InvalidSession, false);
        session.socket = socket;
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
    const id = randomBytes(16).toString('hex');
    const session: Session = { id, socket, sequence: 0, intents, sent: [] };
    sessions.set(id, session);
    dispatchTo(session, 'READY', {
      v: 10,
      user: { ...state.bot, verified: true, mfa_enabled: false, flags: 0, email: null },
      guilds: state.inServer ? [{ id: state.guildId, unavailable: true }] : [],
      session_id: id,
      resume_gateway_url: options.url(),
      shard: [0, 1],
      application: { id: state.applicationId, flags: 1 << 19 },
      private_channels: [],
    });
    if (state.inServer && !gateway.guildUnavailable) {
      dispatchTo(session, 'GUILD_CREATE', guildOf(state));
    }
    identified += 1;
    return session;
  }

  const gateway = {
    /** How often a client that connects is to send a heartbeat. */
    heartbeatMs: 41_250,
    /** While true the server stays unavailable after READY. */
    guildUnavailable: false,
    /** While true new connections are refused. */
    refuses: false,
    /** How many times a client has identified, and resumed. */
    counts: () => ({ identified, resumed }),
    connected: () => [...sessions.values()].filter(({ socket }) => socket !== undefined).length,
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
      if (gateway.refuses) return void socket.destroy();
      server.handleUpgrade(request, socket, head, accept);
    },
    dispatch(t: string, d: unknown, intent = 0) {
      for (const session of sessions.values()) {
        if (intent === 0 || (session.intents & intent) !== 0) dispatchTo(session, t, d);
      }
    },
    /** Tells of a message; without the privileged intent its content stays away unless the bot is meant. */
    announce(t: 'MESSAGE_CREATE' | 'MESSAGE_UPDATE', message: FakeMessage) {
      if ((message.flags & MessageFlags.Ephemeral) !== 0) return;
      const channel = state.channels.get(message.channel_id);
      const inGuild = channel?.guild_id !== undefined;
      const need = inGuild ? GatewayIntentBits.GuildMessages : GatewayIntentBits.DirectMessages;
      for (const session of sessions.values()) {
        if ((session.intents & need) === 0) continue;
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
          ...(inGuild ? inGuildOf(state, message) : {}),
        };
        const blank = { content: '', embeds: [], components: [] };
        dispatchTo(session, t, hidden && !keeps ? { ...data, ...blank } : data);
      }
    },
    /** Nothing comes through the connections of now any more, neither events nor acknowledgements, though they stay open. */
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
    /** Ends the session: the client has to identify anew. */
    invalidateSession() {
      for (const { socket } of sessions.values()) {
        socket?.send(JSON.stringify({ op: GatewayOpcodes.InvalidSession, d: false }));
      }
      sessions.clear();
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

export const memberOf = (state: DiscordState, id: string) => ({
  user: state.users.get(id),
  nick: null,
  roles: state.rolesOf(id),
  joined_at: '2026-01-01T00:00:00.000000+00:00',
  deaf: false,
  mute: false,
  flags: 0,
});

function inGuildOf(state: DiscordState, message: FakeMessage) {
  const { user: _user, ...member } = memberOf(state, message.author.id);
  return { guild_id: state.guildId, member };
}

/** A message as it goes over the wire. */
export function wireMessage(state: DiscordState, message: FakeMessage): Record<string, unknown> {
  const { sentAtMs, edits, nonce, rang, ...data } = message;
  const answered = state.messages.get(message.message_reference?.message_id ?? '');
  return {
    ...data,
    timestamp: new Date(sentAtMs).toISOString(),
    edited_timestamp: edits.length > 0 ? new Date().toISOString() : null,
    tts: false,
    pinned: false,
    attachments: message.attachments.map(({ bytes: _bytes, ...file }) => file),
    ...(answered ? { referenced_message: wireMessage(state, answered) } : {}),
  };
}

/** A role as it goes over the wire. */
export const roleOf = (role: FakeRole) => ({
  position: 1,
  color: 0,
  colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
  hoist: false,
  managed: false,
  flags: 0,
  ...role,
});

const isThread = ({ type }: { type: ChannelType }) =>
  type === ChannelType.PublicThread || type === ChannelType.PrivateThread;

/** The server as it goes over the wire. */
export function guildOf(state: DiscordState) {
  const channels = [...state.channels.values()].filter(({ guild_id }) => guild_id !== undefined);
  return {
    id: state.guildId,
    name: 'Test server',
    // Nobody we know: an owner may do everything.
    owner_id: state.guildId,
    roles: [
      {
        id: state.guildId,
        name: '@everyone',
        permissions: String(BOT_PERMISSIONS),
        position: 0,
        color: 0,
        colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
        hoist: false,
        managed: false,
        mentionable: false,
        flags: 0,
      },
      ...[...state.roles.values()].map(roleOf),
    ],
    emojis: [],
    stickers: [],
    features: [],
    joined_at: '2026-01-01T00:00:00.000000+00:00',
    large: false,
    unavailable: false,
    member_count: 2,
    members: [memberOf(state, state.bot.id)],
    channels: channels.filter((channel) => !isThread(channel)),
    threads: channels.filter((one) => isThread(one) && !one.thread_metadata?.archived),
    voice_states: [],
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  };
}
