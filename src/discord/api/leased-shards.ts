import { setTimeout as pause } from 'node:timers/promises';
import {
  type APIApplication,
  type APIChannel,
  type APIGuild,
  type APIGuildMember,
  type APIThreadList,
  type Client,
  type GatewayDispatchPayload,
  type GatewayReadyDispatchData,
  type Guild,
  type IShardingStrategy,
  type RESTGetAPICurrentUserGuildsResult,
  Routes,
  type SessionInfo,
  SimpleShardingStrategy,
  type WebSocketOptions,
} from 'discord.js';
import type { Logger } from 'pino';
import type { LeaseGroup } from '../../bot/platform.ts';
import type { Guilds } from './guilds.ts';
import type { Replicas } from './replicas.ts';

type Manager = Parameters<NonNullable<WebSocketOptions['buildStrategy']>>[0];

/** What discord.js is told of a shard: events of its connection, and packets that came through it. */
type Emit = (event: string, payload: { data?: unknown }) => boolean;

/** How long a start waits for shards; the others have all of them then. */
const STAND_BY_MS = 1_500;

/**
 * How often it is kept how far a session has come; what came since then comes again after a takeover, so nothing is lost that was
 * heard and not yet stored.
 */
const KEEP_EVERY_MS = 1_000;

/** How long what Discord told of its servers is believed without a connection. */
const BELIEVED_MS = 30_000;

/** Of how many servers that is kept. */
const MAX_LOOKED_UP = 1_000;

/** How long each of the shards may wait for its turn to identify. Source: @discordjs/ws 1.2, `SimpleIdentifyThrottler`. */
const IDENTIFY_MS = 6_500;

/** Most that one page of servers holds. Source: Discord docs, "Get Current User Guilds". */
const PAGE = 200;

/** A close code that leaves the session as it is, for whoever goes on with it; 1000 and 1001 end it. Source: Discord docs, "Gateway". */
const RESUMABLE = 4_200;

/** The connections of this process, as discord.js wants them. */
export type LeasedShards = ReturnType<typeof leasedShards>;

/**
 * A connection for each shard that this process holds, of those that all processes share: each has one holder, who goes on
 * with the session of the one before. While it holds none the client is as one that is connected, but hears nothing.
 *
 * What Discord tells only at the beginning of a session (servers, channels, roles) is looked up where a session goes on: events of a server
 * wait for that.
 */
export function leasedShards(options: {
  replicas: Replicas;
  client: () => Client;
  /** How long a shard may be without a connection until another process gets it. */
  awayLimitMs: number;
  /** Told each time that a shard has come to this process, and its connection is there. */
  onConnected(shard: number): void;
  log: Logger;
}) {
  const { replicas, client, awayLimitMs, onConnected, log } = options;
  const connections = new Map<number, Connection>();
  const lookedUp = new Map<string, { atMs: number; guild: Promise<Guild | undefined> }>();
  let listed: { atMs: number; ids: Promise<string[]> } | undefined;
  let group: LeaseGroup | undefined;
  let isClosed = false;
  let applicationId = '';
  let count = 0;

  const shardOf = (guild: string) => Number((BigInt(guild) >> 22n) % BigInt(count));

  /** Tells discord.js of something as if it had come through a connection. */
  function tell(manager: Manager, shardId: number, t: string, d: unknown) {
    const emit = manager.emit.bind(manager) as unknown as Emit;
    if (t === 'READY') emit('ready', { data: d, shardId } as { data: unknown });
    emit('dispatch', { data: { op: 0, s: null, t, d }, shardId } as { data: unknown });
  }

  /** Asks Discord for all that an announcement of a server tells, and has discord.js keep it. Throws what the calls throw. */
  async function lookUp(manager: Manager, id: string): Promise<Guild | undefined> {
    const { rest } = manager.options;
    const get = <T>(route: `/${string}`) => rest.get(route) as Promise<T>;
    const [guild, channels, { threads }, member] = await Promise.all([
      get<APIGuild>(Routes.guild(id)),
      get<APIChannel[]>(Routes.guildChannels(id)),
      get<APIThreadList>(Routes.guildActiveThreads(id)),
      get<APIGuildMember>(Routes.guildMember(id, client().user?.id)),
    ]);
    const { cache } = client().guilds;
    // discord.js reads the announcement of a server that it does not know yet, or that was away.
    const known = cache.get(id);
    if (known) known.available = false;
    const announced = { ...guild, channels, threads, members: [member], unavailable: false };
    tell(manager, shardOf(id), 'GUILD_CREATE', announced);
    return cache.get(id);
  }

  /** The connection of one shard; it is opened at once. */
  function open(manager: Manager, shard: number) {
    const ended = new AbortController();
    /** Servers of which all is known from this connection, or is about to be. */
    const known = new Set<string>();
    /** The last event of each server that is looked up: the next one waits for it. */
    const lines = new Map<string, Promise<void>>();
    const key = `${applicationId}:${shard}`;
    let session: SessionInfo | null = null;
    let hasArrived = false;
    let late: NodeJS.Timeout | undefined;
    /** The session as it was some time ago, and as it is kept. */
    let before: SessionInfo | undefined;
    let kept: SessionInfo | undefined;

    async function keep(newest: SessionInfo | undefined) {
      if (!newest || newest === kept) return;
      kept = newest;
      try {
        await replicas.sessions.update(key, (now) =>
          now?.sessionId === newest.sessionId && now.sequence > newest.sequence ? now : newest,
        );
      } catch (error) {
        log.debug({ err: error, shard }, 'could not store the position of a connection');
      }
    }

    const keeping = setInterval(() => {
      void keep(before);
      before = session ?? undefined;
    }, KEEP_EVERY_MS).unref();

    const emit = manager.emit.bind(manager) as unknown as Emit;
    // Stands between its connection and the manager.
    const own = Object.create(manager, {
      options: {
        value: {
          ...manager.options,
          // One that has ended is not to come back, as it does half a second after it was cut.
          retrieveSessionInfo: () => (ended.signal.aborted ? new Promise(() => {}) : session),
          updateSessionInfo(_shard: number, info: SessionInfo | null) {
            if (ended.signal.aborted) return;
            const isNew = info !== null && info.sessionId !== session?.sessionId;
            session = info;
            void manager.options.updateSessionInfo(shard, info);
            if (isNew) void keep(info);
          },
        },
      },
      emit: {
        value(event: string, payload: { data?: unknown }) {
          if (ended.signal.aborted) return false;
          if (event === 'dispatch') {
            deliver(payload as { data: GatewayDispatchPayload });
            return true;
          }
          if (event === 'ready') {
            known.clear();
            for (const { id } of (payload.data as GatewayReadyDispatchData).guilds) known.add(id);
          }
          if (event === 'ready' || event === 'resumed') arrive({ goesOn: event === 'resumed' });
          else if (event === 'closed') expectArrival();
          return emit(event, payload);
        },
      },
    }) as Manager;
    const strategy = new SimpleShardingStrategy(own);

    function deliver(payload: { data: GatewayDispatchPayload }) {
      const { t, d } = payload.data;
      const guild = guildOf(payload.data);
      if (t === 'GUILD_CREATE' || t === 'GUILD_DELETE') known.add(d.id);
      if (guild === undefined || (known.has(guild) && !lines.has(guild))) {
        emit('dispatch', payload);
        return;
      }
      void inLine(
        guild,
        (lines.get(guild) ?? learn(guild)).then(() => {
          if (!ended.signal.aborted) emit('dispatch', payload);
        }),
      );
    }

    /** What comes of a server from now on waits for this. */
    async function inLine(guild: string, last: Promise<void>) {
      lines.set(guild, last);
      await last;
      if (lines.get(guild) === last) lines.delete(guild);
    }

    /** Never rejects. */
    async function learn(guild: string) {
      known.add(guild);
      try {
        await lookUp(manager, guild);
      } catch (error) {
        known.delete(guild);
        log.warn({ err: error, guild }, 'could not look up a server; its messages are lost');
      }
    }

    /** One after another: there may be a thousand, and nobody waits. */
    async function learnAll() {
      for (const guild of await guilds.ids()) {
        if (ended.signal.aborted) return;
        if (shardOf(guild) === shard && !known.has(guild)) await inLine(guild, learn(guild));
      }
    }

    async function connect() {
      session = await replicas.sessions.get(key).then(
        (found) => (found?.shardCount === count ? found : null),
        (error: unknown) => {
          log.warn(
            { err: error, shard },
            'could not read the session of a connection; starting a new one',
          );
          return null;
        },
      );
      if (ended.signal.aborted) return;
      void manager.options.updateSessionInfo(shard, session);
      await strategy.spawn([shard]);
      if (ended.signal.aborted) return;
      await Promise.race([strategy.connect(), aborted(ended.signal)]);
    }

    function expectArrival() {
      late ??= setTimeout(
        () => {
          log.warn(
            { shard },
            'could not reach Discord from here; another process may take the shard',
          );
          standBack();
        },
        awayLimitMs + count * IDENTIFY_MS,
      ).unref();
    }

    /** What comes after the first are reconnects. */
    function arrive({ goesOn }: { goesOn: boolean }) {
      clearTimeout(late);
      late = undefined;
      if (hasArrived) return;
      hasArrived = true;
      log.info({ shard, goesOn }, 'this process holds a connection to Discord');
      onConnected(shard);
      if (!goesOn) return;
      learnAll().catch((error: unknown) =>
        log.warn({ err: error, shard }, 'could not look up all servers'),
      );
    }

    expectArrival();
    const connected = connect();
    // A start waits for it; later the close code tells.
    connected.catch((error: unknown) =>
      log.debug({ err: error, shard }, 'a shard did not connect'),
    );
    return {
      connected,
      strategy,
      /** Whether all that Discord told of a server is known, and changes of it are heard. */
      hears: (guild: string) => known.has(guild) && !lines.has(guild),
      /** Nothing comes of it any more; `isLost` says that another process may have it already. */
      async end({ isLost = false } = {}) {
        if (ended.signal.aborted) return;
        ended.abort();
        clearInterval(keeping);
        clearTimeout(late);
        // Frees a connection that waits for its acknowledgements, too.
        const closed = strategy.destroy({ code: RESUMABLE, reason: 'Another process continues' });
        if (!isLost) await keep(before);
        await Promise.race([closed, pause(CLOSE_MS, undefined, { ref: false })]);
      },
    };
  }

  /** Competes for no shards for a while: what keeps it from Discord may be its own network. */
  function standBack() {
    group?.setAble(false);
    setTimeout(() => {
      if (!isClosed) group?.setAble(true);
    }, awayLimitMs).unref();
  }

  async function end(shard: number, how?: { isLost: boolean }) {
    const connection = connections.get(shard);
    connections.delete(shard);
    await connection?.end(how);
  }

  function buildStrategy(manager: Manager): IShardingStrategy {
    let shards: number[] = [];

    async function connect() {
      const { rest } = manager.options;
      const application = (await rest.get(Routes.currentApplication())) as APIApplication;
      applicationId = application.id;
      const ready = { user: application.bot, application, guilds: [] };
      for (const shard of shards) tell(manager, shard, 'READY', ready);
      let taken = () => {};
      const first = new Promise<void>((resolve) => {
        taken = resolve;
      });
      // Two processes that count differently, as while it is changed, hear all of it twice, and do it once.
      group = replicas.leases(`discord-shard-of-${count}`, count, {
        taken(parts) {
          for (const part of parts) connections.set(part, open(manager, part));
          taken();
        },
        async giving(parts) {
          await Promise.all(parts.map((part) => end(part)));
        },
        lost: (part) => void end(part, { isLost: true }),
      });
      await Promise.race([first, pause(STAND_BY_MS, undefined, { ref: false })]);
      await Promise.all([...connections.values()].map(({ connected }) => connected));
    }

    guilds = createGuilds(manager);
    return {
      async spawn(ids) {
        shards = ids;
        count = await manager.getShardCount();
      },
      connect,
      destroy: close,
      async send(shard, payload) {
        await connections.get(shard)?.strategy.send(shard, payload);
      },
      // Nobody asks for it.
      fetchStatus: () => new SimpleShardingStrategy(manager).fetchStatus(),
    };
  }

  async function close() {
    isClosed = group !== undefined;
    // Others need not leave any to this process.
    group?.setAble(false);
    await group?.close();
    await Promise.all([...connections.keys()].map((shard) => end(shard)));
  }

  let guilds: Guilds = { ids: async () => [], get: async () => undefined };

  function createGuilds(manager: Manager): Guilds {
    async function list(): Promise<string[]> {
      const ids: string[] = [];
      for (;;) {
        const after = ids.at(-1);
        const query = new URLSearchParams({ limit: String(PAGE), ...(after && { after }) });
        const found = (await manager.options.rest.get(Routes.userGuilds(), {
          query,
        })) as RESTGetAPICurrentUserGuildsResult;
        ids.push(...found.map(({ id }) => id));
        if (found.length < PAGE) return ids;
      }
    }

    return {
      ids() {
        if (!listed || performance.now() - listed.atMs > BELIEVED_MS) {
          const ids = list();
          listed = { atMs: performance.now(), ids };
          ids.catch(() => {
            listed = undefined;
          });
        }
        return listed.ids;
      },
      async get(id) {
        if (connections.get(shardOf(id))?.hears(id)) return client().guilds.cache.get(id);
        const before = lookedUp.get(id);
        if (before && performance.now() - before.atMs < BELIEVED_MS) return await before.guild;
        if (lookedUp.size >= MAX_LOOKED_UP) lookedUp.clear();
        const guild = lookUp(manager, id);
        lookedUp.set(id, { atMs: performance.now(), guild });
        guild.catch(() => lookedUp.delete(id));
        return await guild;
      },
    };
  }

  return {
    buildStrategy,
    guilds: {
      ids: () => guilds.ids(),
      get: (id) => guilds.get(id),
    } satisfies Guilds as Guilds,
    /** Gives all shards back, for others to go on with. */
    close,
  };
}

type Connection = { connected: Promise<void>; strategy: IShardingStrategy } & {
  hears(guild: string): boolean;
  end(how?: { isLost?: boolean }): Promise<void>;
};

/** How long the end of a connection is waited for: a peer that is away does not acknowledge it. */
const CLOSE_MS = 1_000;

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** The server that an event is of, which has to be known for it. */
function guildOf({ t, d }: GatewayDispatchPayload): string | undefined {
  if (t === 'GUILD_CREATE' || t === 'GUILD_DELETE') return undefined;
  const { guild_id: guild } = (d ?? {}) as { guild_id?: unknown };
  return typeof guild === 'string' ? guild : undefined;
}
