import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Bot, Platform } from '../bot/platform.ts';
import { DeliveryError, PlatformStartError } from '../bot/shared/errors.ts';
import { FileError } from '../bot/shared/shared-file.ts';

/** A platform as it is made, with what it mounts on the one server. */
export interface MadePlatform extends Platform {
  routes?: readonly PlatformRoute[];
}

/** A route of a platform. */
export interface PlatformRoute {
  method: 'GET' | 'POST';
  path: string;
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/** Keeps faults inside the libraries of platforms from ending the program: such a platform is created and started again. */
export type PlatformSupervisor = ReturnType<typeof createPlatformSupervisor>;

/** Before the first new start; doubled with each further one. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/** After so long without a fault the next one is the first again. */
const CALM_MS = 10 * 60_000;

/** A platform whose library is broken may not end its stop either. */
const STOP_LIMIT_MS = 5_000;

/** One start of a platform, up to its stop: a platform is never started twice. */
interface Life {
  readonly platform: MadePlatform;
  fault(error: unknown): void;
}

type Make = (onFatal: (error: Error) => void) => Promise<MadePlatform>;

interface Supervision {
  readonly make: Make;
  readonly onFatal: (error: Error) => void;
  readonly lives: AsyncLocalStorage<Life>;
  readonly firstPauseMs: number;
  readonly log: Logger;
}

/**
 * A supervisor of platforms. The asynchronous context of an error says which platform it came from: everything that a platform
 * starts, such as its sockets, runs in the context of its life.
 */
export function createPlatformSupervisor(options: { log: Logger; firstPauseMs?: number }) {
  const { log, firstPauseMs = FIRST_PAUSE_MS } = options;
  const lives = new AsyncLocalStorage<Life>();
  const faults = new Map<string, number>();

  return {
    /** A platform that outlives its faults. `make` is called again for each new start; `onFatal` ends the program. */
    async supervise(make: Make, onFatal: (error: Error) => void): Promise<SupervisedPlatform> {
      const supervised = await SupervisedPlatform.create({
        ...{ make, onFatal, lives, firstPauseMs, log },
      });
      faults.set(supervised.name, faults.get(supervised.name) ?? 0);
      return supervised;
    },

    /**
     * Takes an error that nobody caught. False if it did not come from a platform that starts or runs: then it is a fault of
     * our own.
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

    /** The number of faults of each platform. */
    faults: () => [...faults].map(([platform, value]) => ({ labels: { platform }, value })),
  };
}

/**
 * Restarts a platform after a fault. It has every member of `Platform`, including optional ones, which do nothing if the platform
 * lacks them.
 *
 * States: `new` until `start`; `starting` until the platform has started; `running` until a fault; `waiting` for the next start,
 * and while the old life ends, then `starting` again. A start that fails leads to `waiting`, unless the platform refuses for good.
 */
export class SupervisedPlatform implements Required<Platform> {
  readonly name: string;
  readonly routes: readonly PlatformRoute[];
  private readonly supervision: Supervision;
  private readonly stopping = new AbortController();
  private current: Life;
  private bot: Bot | undefined;
  private state: 'new' | 'starting' | 'running' | 'waiting' = 'new';
  private restarts = 0;
  private startedAtMs = 0;
  private failStart = (_error: unknown) => {};

  static async create(supervision: Supervision): Promise<SupervisedPlatform> {
    let supervised: SupervisedPlatform | undefined;
    const first = await beginLife(supervision, () => supervised);
    supervised = new SupervisedPlatform(supervision, first);
    return supervised;
  }

  private constructor(supervision: Supervision, first: Life) {
    this.supervision = supervision;
    this.current = first;
    this.name = first.platform.name;
    this.routes = (first.platform.routes ?? []).map(({ method, path }) => ({
      method,
      path,
      handle: (request, response) =>
        this.inLife(({ routes = [] }) =>
          routes
            .find((route) => route.method === method && route.path === path)
            ?.handle(request, response),
        ),
    }));
  }

  async start(bot: Bot): Promise<void> {
    this.bot = bot;
    try {
      await this.startCurrent(bot);
    } catch (error) {
      if (this.stopping.signal.aborted || error instanceof PlatformStartError) throw error;
      this.logFailedStart(error);
      void this.restart();
    }
  }

  async pause(): Promise<void> {
    await this.inLife((platform) => platform.pause?.());
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.inLife((platform) => platform.stop());
  }

  hint(): string | undefined {
    return this.state !== 'running'
      ? 'not connected yet: it failed and is restarting; see the log for the reason'
      : this.inLife((platform) => platform.hint?.());
  }

  channelName(channel: string): string | undefined {
    return this.inLife((platform) => platform.channelName?.(channel));
  }

  readAround(...of: Parameters<Required<Platform>['readAround']>) {
    return this.deliver(async (platform) => await platform.readAround?.(...of));
  }

  readFile(...of: Parameters<Required<Platform>['readFile']>) {
    if (this.state !== 'running') {
      throw new FileError('the chat platform is restarting. Ask again in a moment.');
    }
    const { lives } = this.supervision;
    const life = this.current;
    const stream = lives.run(life, () => life.platform.readFile?.(...of));
    return stream && withContext(stream, (step) => lives.run(life, step));
  }

  post(...of: Parameters<Platform['post']>) {
    return this.deliver((platform) => platform.post(...of));
  }

  update(...of: Parameters<Platform['update']>) {
    return this.deliver((platform) => platform.update(...of));
  }

  linkTo(...of: Parameters<Required<Platform>['linkTo']>) {
    return this.deliver(async (platform) => await platform.linkTo?.(...of));
  }

  announce(...of: Parameters<Platform['announce']>) {
    return this.deliver((platform) => platform.announce(...of));
  }

  endAnswer(...of: Parameters<Required<Platform>['endAnswer']>) {
    return this.deliver(async (platform) => await platform.endAnswer?.(...of));
  }

  /** A fault of one of its lives. */
  fault(life: Life, error: unknown): void {
    // A stopped instance may still fail.
    const isCurrent = life === this.current && !this.stopping.signal.aborted;
    const isNew = isCurrent && (this.state === 'running' || this.state === 'starting');
    const what = isNew ? 'restarting it' : 'it is restarting already';
    this.supervision.log.error(
      { err: error, platform: this.name },
      `the platform's library failed; ${what}`,
    );
    if (isCurrent && this.state === 'running') void this.restart();
    else if (isNew) this.failStart(error);
  }

  isCurrent(life: Life): boolean {
    return life === this.current;
  }

  /** Does something in the context of the platform's life. */
  private inLife<T>(act: (platform: MadePlatform) => T): T {
    const { current } = this;
    return this.supervision.lives.run(current, () => act(current.platform));
  }

  /** Delivers through the platform, once it runs. */
  private async deliver<T>(send: (platform: MadePlatform) => Promise<T>): Promise<T> {
    if (this.state === 'running') return await this.inLife(send);
    throw new DeliveryError(`${this.name} is restarting.`, { permanent: false });
  }

  /** Rejects when the platform does not start, or when a fault comes out of it meanwhile: then its start may never end. */
  private async startCurrent(bot: Bot): Promise<void> {
    this.state = 'starting';
    const fault = new Promise<never>((_, reject) => {
      this.failStart = reject;
    });
    const started = this.inLife((platform) => platform.start(bot));
    // After a fault nobody asks for it any more.
    started.catch(() => undefined);
    await Promise.race([started, fault]);
    this.startedAtMs = performance.now();
    this.state = 'running';
  }

  private async restart(): Promise<void> {
    const { name, bot, stopping } = this;
    const { firstPauseMs, onFatal, log } = this.supervision;
    if (performance.now() - this.startedAtMs > CALM_MS) this.restarts = 0;
    while (!stopping.signal.aborted) {
      this.state = 'waiting';
      const pauseMs = Math.min(MAX_PAUSE_MS, firstPauseMs * 2 ** this.restarts);
      this.restarts += 1;
      try {
        await pause(pauseMs, undefined, { signal: stopping.signal });
        bot?.interrupt(name);
        await this.endCurrent();
        // Includes answers that began while the old instance stopped.
        const endAnswers = bot?.interrupt(name);
        this.current = await beginLife(this.supervision, () => this);
        // Stopped since, it would run for good.
        stopping.signal.throwIfAborted();
        if (bot) await this.startCurrent(bot);
        endAnswers?.();
        log.info({ platform: name }, 'the platform restarted');
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (error instanceof PlatformStartError) return onFatal(error);
        this.logFailedStart(error);
      }
    }
  }

  private async endCurrent(): Promise<void> {
    const { name } = this;
    const { log } = this.supervision;
    const late = pause(STOP_LIMIT_MS, 'late' as const, { ref: false });
    try {
      const stopped = this.inLife((platform) => platform.stop());
      if ((await Promise.race([stopped, late])) !== 'late') return;
      log.warn({ platform: name }, 'the platform did not stop in time; abandoning it');
    } catch (error) {
      log.warn({ err: error, platform: name }, 'the platform did not stop cleanly');
    }
  }

  private logFailedStart(error: unknown): void {
    this.supervision.log.error(
      { err: error, platform: this.name },
      'the platform did not start; retrying',
    );
  }
}

/** Makes a platform; `owner` is the one whose life this is, once that exists. */
async function beginLife(
  { make, onFatal }: Supervision,
  owner: () => SupervisedPlatform | undefined,
): Promise<Life> {
  const life: Life = {
    platform: await make((error) => {
      if (owner()?.isCurrent(life)) onFatal(error);
    }),
    fault: (error) => owner()?.fault(life, error),
  };
  return life;
}

/** Runs each step of a stream in its own async context, so that faults of its resources are attributed to it. */
function withContext<T>(
  stream: AsyncIterable<T>,
  inContext: <R>(step: () => R) => R,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const steps = inContext(() => stream[Symbol.asyncIterator]());
      return {
        next: () => inContext(() => steps.next()),
        return: async () =>
          (await inContext(() => steps.return?.())) ?? { done: true, value: undefined },
      };
    },
  };
}
