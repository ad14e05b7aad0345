import type { Logger } from 'pino';
import type { Store, Windows } from '../../bot/platform.ts';
import type { EditKind } from './edit-pace.ts';

/** What Slack counts of a workspace for all processes together. */
export interface SharedPaces {
  /** Takes a place for a call of a method whose limit is `chat.update`'s; when there is none, says for how many milliseconds. */
  takeEdit(method: string, kind: EditKind): Promise<number | undefined>;
  /** The same for an addition to a stream. */
  takeAppend(): Promise<number | undefined>;
}

/** Edits of a workspace in a minute. Source: Slack docs, "Rate limits", "Web API rate limits by tier", tier 3. */
const EDITS = 50;
/** Of these so many for what is being written, of all that are made: as each is more urgent, it finds room. */
const WRITTEN = 46;
const LESS_URGENT = 49;

/**
 * So many edits of what is being written in the time of as many paces: evenly over the minute, whichever processes make them. Of
 * additions to streams, of which Slack takes 100 a minute, twice as many.
 */
const MOMENT = 4;
const APPENDS = 2 * MOMENT - 1;

/** While nobody can be asked, what is being written waits so long, and all else goes by the pace of this process. */
const UNKNOWN_MS = 1_000;

interface SharedWindows {
  minute: Windows;
  moment: Windows;
}

/** What a store counts, which is asked for once: the platform may be made anew. */
const windowsOf = new WeakMap<object, SharedWindows>();

function openWindows(store: Pick<Store, 'windows'>, editMs: number): SharedWindows {
  const opened = windowsOf.get(store) ?? {
    // A minute, and some seconds for edits that are long on their way.
    minute: store.windows({ name: 'slack-minute', windowMs: (EDITS - 1) * editMs }),
    moment: store.windows({ name: 'slack-moment', windowMs: MOMENT * editMs }),
  };
  windowsOf.set(store, opened);
  return opened;
}

/** The paces of a workspace in a store that processes share; `editMs` is a little more than a fiftieth of a minute. */
export function createSharedPaces(
  store: Pick<Store, 'windows'>,
  { teamId, editMs, log }: { teamId: () => string; editMs: number; log: Logger },
): SharedPaces {
  const { minute, moment } = openWindows(store, editMs);

  async function take(windows: Windows, who: string, limit: number) {
    const taken = await windows.take(who, limit);
    const waitMs =
      taken.place === undefined ? taken.window.waitMs(limit - 1, performance.now()) : undefined;
    // At least so long that it is worth asking again.
    return { taken, waitMs: waitMs === undefined ? undefined : Math.max(waitMs, editMs / 10) };
  }

  function unknown(error: unknown) {
    log.debug({ err: error }, 'could not read how many calls other processes make in a workspace');
  }

  return {
    async takeEdit(method, kind) {
      const who = `${teamId()} ${method}`;
      const isWriting = kind === 'first' || kind === 'more';
      try {
        const turn = isWriting ? await take(moment, who, MOMENT) : undefined;
        if (turn?.waitMs !== undefined) return turn.waitMs;
        const limit = kind === 'alert' ? EDITS : isWriting ? WRITTEN : LESS_URGENT;
        const { waitMs } = await take(minute, who, limit);
        if (waitMs !== undefined && turn) await moment.takeBack(who, turn.taken);
        return waitMs;
      } catch (error) {
        unknown(error);
        return isWriting ? UNKNOWN_MS : undefined;
      }
    },
    async takeAppend() {
      try {
        return (await take(moment, `${teamId()} chat.appendStream`, APPENDS)).waitMs;
      } catch (error) {
        unknown(error);
        return UNKNOWN_MS;
      }
    },
  };
}
