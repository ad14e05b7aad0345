import { setTimeout as pause } from 'node:timers/promises';
import type { SessionInfo, WebSocketOptions } from 'discord.js';
import type { Logger } from 'pino';
import type { Collection, Store } from '../../bot/platform.ts';

/** What processes that are the same bot together share. */
export interface Replicas extends Pick<Store, 'lease' | 'leases'> {
  /** What it takes to go on with a connection, by its shard. */
  sessions: Collection<SessionInfo>;
  /** The last that identified, by the key that shards share. */
  turns: Collection<Turn>;
}

/** Whether the time that an identification keeps others away was waited for. */
export interface Turn {
  isOver: boolean;
}

/** How long one identification keeps others of its key away, and what the way there may take. Source: Discord docs, "Sharding". */
const IDENTIFY_MS = 5_250;

/** How often it is tried to have the turn. */
const AGAIN_MS = 250;

/**
 * One queue in which all connections of all processes wait to identify: whoever has the turn keeps it until the next may. It
 * does not reject for want of the store: discord.js would identify all the same.
 */
export function identifyInTurn(
  { lease, turns }: Pick<Replicas, 'lease' | 'turns'>,
  { log }: { log: Logger },
): NonNullable<WebSocketOptions['buildIdentifyThrottler']> {
  /** The turn, once it is this process's; it ends by itself. */
  async function take(key: string, signal: AbortSignal): Promise<boolean> {
    const turn = await lease(`discord-${key}`);
    if (!turn) return false;
    try {
      const last = await turns.get(key);
      // Who had it died meanwhile: from when on is known to nobody.
      if (last && !last.isOver) await pause(IDENTIFY_MS, undefined, { signal });
      await turns.update(key, () => ({ isOver: false }));
      signal.throwIfAborted();
      if (turn.signal.aborted) return false;
    } catch (error) {
      await turn.release();
      throw error;
    }
    void endLater(key, turn);
    return true;
  }

  async function endLater(key: string, turn: { signal: AbortSignal; release(): Promise<void> }) {
    await pause(IDENTIFY_MS, undefined, { ref: false });
    try {
      if (!turn.signal.aborted) await turns.update(key, () => ({ isOver: true }));
    } catch (error) {
      log.debug(
        { err: error },
        'could not release the turn to identify; the next one waits longer than necessary',
      );
    }
    await turn.release();
  }

  return async (manager) => {
    const told = await manager.fetchGatewayInformation();
    const { max_concurrency: keys } = told.session_start_limit;
    return {
      async waitForIdentify(shard, signal) {
        for (;;) {
          signal.throwIfAborted();
          const isTaken = await take(`identify-${shard % keys}`, signal).catch((error: unknown) => {
            if (!signal.aborted)
              log.debug({ err: error, shard }, 'could not read whose turn it is to identify');
            return false;
          });
          if (isTaken) return;
          await pause(AGAIN_MS, undefined, { signal });
        }
      },
    };
  };
}
