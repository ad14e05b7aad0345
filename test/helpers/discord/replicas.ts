import { onTestFinished } from 'vitest';
import { replicasOf } from '../../../src/app/platforms/discord.ts';
import type { Bot } from '../../../src/bot/platform.ts';
import { createDiscord, type DiscordOptions } from '../../../src/discord/discord.ts';
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { DiscordFake } from '../../fakes/discord/discord.ts';
import { testDatabase } from '../postgres/test-database.ts';
import { recordingLog } from '../recording-log.ts';

/** So that a process is thought dead within a test's time. */
const TIMES = { ttlMs: 4_000, beatMs: 300 };

/** Signs of life of those that are frozen do not come through. */
const FREEZING = `
  create table #.frozen (name text);
  create function #.is_heard() returns trigger language plpgsql as $$
    begin
      if new.until > clock_timestamp() and exists (select from #.frozen f where f.name = new.version) then
        return null;
      end if;
      return new;
    end $$;
  create trigger frozen before insert or update on #.member for each row execute function #.is_heard();`;

/** Processes that are the same bot of a Discord: each with a platform, and a store of its own on one database. */
export async function startReplicas(discord: DiscordFake) {
  const database = await testDatabase();
  let isPrepared = false;
  const replicas = new Map<string, Awaited<ReturnType<typeof start>>>();

  async function start(
    name: string,
    /** `killed` aborts when it is. */
    botFor: (store: PostgresStore, killed: AbortSignal) => Bot | Promise<Bot>,
    options: Partial<DiscordOptions> = {},
  ) {
    const store = await database.open({ times: TIMES, version: name });
    const { log, lines } = recordingLog();
    const fatal: Error[] = [];
    const life = new AbortController();
    const shared = replicasOf(store);
    const platform = await createDiscord({
      token: discord.settings.token,
      apiUrl: discord.apiOf(name),
      messageContent: false,
      editIntervalMs: 30,
      log,
      onFatal: (error) => fatal.push(error),
      replicas: {
        ...shared,
        sessions: {
          ...shared.sessions,
          // Where the fake is found for this process.
          async get(id) {
            const session = await shared.sessions.get(id);
            return session && { ...session, resumeURL: discord.gatewayUrl(name) };
          },
          async update(id, change) {
            life.signal.throwIfAborted();
            return await shared.sessions.update(id, change);
          },
        },
      },
      ...options,
    });
    const bot = await botFor(store, life.signal);
    onTestFinished(() => platform.stop());
    await platform.start(bot);
    return { name, platform, bot, store, lines, fatal, life };
  }

  /** The database hears nothing more of a process, which finds out; others think it dead once its time is over. */
  async function freeze(name: string) {
    if (!isPrepared) await database.query(FREEZING);
    isPrepared = true;
    await database.query('insert into #.frozen values ($1)', [name]);
  }

  return {
    database,
    /** Starts one more. */
    async start(...given: Parameters<typeof start>) {
      const started = await start(...given);
      replicas.set(started.name, started);
      return started;
    },
    /** As kill -9: nothing of it reaches Discord or the database any more, and nobody is told. */
    async kill(name: string) {
      discord.gateway.kill(name);
      const killed = replicas.get(name);
      replicas.delete(name);
      if (!killed) throw new Error(`There is no ${name}`);
      killed.life.abort();
      await freeze(name);
      await killed.store.close();
    },
    /** As a machine that stands still for too long: others go on, and it finds out when it goes on itself. */
    freeze,
    /** It goes on. */
    async thaw(name: string) {
      await database.query('delete from #.frozen where name = $1', [name]);
    },
  };
}
