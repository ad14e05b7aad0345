import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Bot, Platform } from '../bot/platform.ts';
import { DeliveryError, PlatformStartError } from '../bot/shared/errors.ts';

/** A platform as it is made, with what it mounts on the one server. */
export interface MadePlatform extends Platform {
  routes?: readonly Route[];
}

interface Route {
  method: 'GET' | 'POST';
  path: string;
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/** Keeps faults inside the libraries of platforms from ending the program: such a platform is made and started anew. */
export type PlatformSupervisor = ReturnType<typeof createPlatformSupervisor>;

/** Before the first new start; doubled with each further one. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/** After so long without a fault the next one is the first again. */
const CALM_MS = 10 * 60_000;

/** A platform whose library is broken may not end its stop either. */
const STOP_LIMIT_MS = 5_000;

/** What is started once, and never again after its stop. */
interface Life {
  readonly platform: MadePlatform;
  fault(error: unknown): void;
}

/**
 * A supervisor of platforms. Whose fault an error is follows from the asynchronous context it came out of: everything that a
 * platform starts, such as its sockets, runs in the context of its life.
 */
export function createPlatformSupervisor(options: { log: Logger; firstPauseMs?: number }) {
  const { log, firstPauseMs = FIRST_PAUSE_MS } = options;
  const lives = new AsyncLocalStorage<Life>();
  const faults = new Map<string, number>();

  return {
    /** A platform that outlives its faults. `make` is called again for each new start; `onFatal` ends the program. */
    async supervise(
      make: (onFatal: (error: Error) => void) => Promise<MadePlatform>,
      onFatal: (error: Error) => void,
    ): Promise<Platform & { routes: readonly Route[] }> {
      const stopping = new AbortController();
      let bot: Bot | undefined;
      let state: 'new' | 'starting' | 'running' | 'waiting' = 'new';
      let restarts = 0;
      let startedAtMs = 0;
      let failStart = (_error: unknown) => {};

      async function begin(): Promise<Life> {
        const life: Life = {
          platform: await make((error) => {
            if (life === current) onFatal(error);
          }),
          fault(error) {
            // Of a platform that was stopped, what is left of it may still fail.
            const isCurrent = life === current && !stopping.signal.aborted;
            const isNew = isCurrent && (state === 'running' || state === 'starting');
            const { name } = life.platform;
            const what = isNew ? 'it is started again' : 'it is being started again already';
            log.error({ err: error, platform: name }, `a fault in a platform's library; ${what}`);
            if (isCurrent && state === 'running') void restart();
            else if (isNew) failStart(error);
          },
        };
        return life;
      }

      let current = await begin();
      const { name } = current.platform;
      faults.set(name, 0);

      /** Does something in the context of the platform's life. */
      const inLife = <T>(act: (platform: MadePlatform) => T): T =>
        lives.run(current, () => act(current.platform));

      /** Rejects when the platform does not start, or when a fault comes out of it meanwhile: then its start may never end. */
      async function startCurrent(given: Bot): Promise<void> {
        state = 'starting';
        const fault = new Promise<never>((_, reject) => {
          failStart = reject;
        });
        const started = inLife((platform) => platform.start(given));
        // After a fault nobody asks for it any more.
        started.catch(() => undefined);
        await Promise.race([started, fault]);
        startedAtMs = performance.now();
        state = 'running';
      }

      async function restart(): Promise<void> {
        if (performance.now() - startedAtMs > CALM_MS) restarts = 0;
        while (!stopping.signal.aborted) {
          state = 'waiting';
          const pauseMs = Math.min(MAX_PAUSE_MS, firstPauseMs * 2 ** restarts);
          restarts += 1;
          try {
            await pause(pauseMs, undefined, { signal: stopping.signal });
            bot?.interrupt(name);
            await end(current);
            // What came while it ended, too.
            const endAnswers = bot?.interrupt(name);
            current = await begin();
            if (bot) await startCurrent(bot);
            endAnswers?.();
            log.info({ platform: name }, 'the platform is started again');
            return;
          } catch (error) {
            if (stopping.signal.aborted) return;
            if (error instanceof PlatformStartError) return onFatal(error);
            log.error({ err: error, platform: name }, 'the platform did not start; trying again');
          }
        }
      }

      async function end({ platform }: Life): Promise<void> {
        const late = pause(STOP_LIMIT_MS, 'late' as const, { ref: false });
        try {
          const stopped = inLife(() => platform.stop());
          if ((await Promise.race([stopped, late])) !== 'late') return;
          log.warn({ platform: name }, 'the platform did not stop in time; what is left is left');
        } catch (error) {
          log.warn({ err: error, platform: name }, 'the platform did not stop cleanly');
        }
      }

      /** Delivers through the platform, once it runs. */
      async function deliver<T>(send: (platform: MadePlatform) => Promise<T>): Promise<T> {
        if (state === 'running') return await inLife(send);
        throw new DeliveryError(`${name} is being started again.`, { permanent: false });
      }

      return {
        name,
        routes: (current.platform.routes ?? []).map(({ method, path }) => ({
          method,
          path,
          handle: (request, response) =>
            inLife(({ routes = [] }) =>
              routes
                .find((route) => route.method === method && route.path === path)
                ?.handle(request, response),
            ),
        })),
        async start(given) {
          bot = given;
          try {
            await startCurrent(given);
          } catch (error) {
            if (stopping.signal.aborted || error instanceof PlatformStartError) throw error;
            log.error({ err: error, platform: name }, 'the platform did not start; trying again');
            void restart();
          }
        },
        async stop() {
          stopping.abort();
          await inLife((platform) => platform.stop());
        },
        hint: () =>
          state !== 'running'
            ? 'not connected yet: its library failed, so it is started again; the log says why'
            : current.platform.hint?.(),
        channelName: (channel) => current.platform.channelName?.(channel),
        readAround: (channel, around, limits) =>
          deliver(async (platform) => await platform.readAround?.(channel, around, limits)),
        post: (post) => deliver((platform) => platform.post(post)),
        update: (channel, posted, card, isOurs) =>
          deliver((platform) => platform.update(channel, posted, card, isOurs)),
        linkTo: (channel, posted) =>
          deliver(async (platform) => await platform.linkTo?.(channel, posted)),
        announce: (line) => deliver((platform) => platform.announce(line)),
        async endAnswer(unfinished) {
          await deliver(async (platform) => await platform.endAnswer?.(unfinished));
        },
        async takeOver(takenOver) {
          await deliver(async (platform) => await platform.takeOver?.(takenOver));
        },
      };
    },

    /**
     * Takes an error that nobody caught. False when it did not come out of a platform that starts or runs: then it is a fault
     * of our own.
     */
    take(error: unknown): boolean {
      const life = lives.getStore();
      if (!life) return false;
      const { name } = life.platform;
      faults.set(name, (faults.get(name) ?? 0) + 1);
      // Outside of the old life, in which everything else would go on.
      lives.exit(() => life.fault(error));
      return true;
    },

    /** How many faults each platform has had. */
    faults: () => [...faults].map(([platform, value]) => ({ labels: { platform }, value })),
  };
}
