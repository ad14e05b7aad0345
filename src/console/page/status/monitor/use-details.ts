import { useEffect, useState } from 'preact/hooks';
import type { StatusDetails } from '../../../status/api-types.ts';
import type { StatusClient } from '../client.ts';

/** How old details may become while they are open. */
const REFRESH_MS = 60_000;

/** Pause before details that could not be had are asked for again. */
const RETRY_MS = 5_000;

/** What is known of a monitor; what was known before stays until the answer comes. */
export interface DetailsState {
  /** Undefined until there was an answer. */
  details: StatusDetails | undefined;
  /** Of how many hours they are. */
  hours: number;
  /** There is no such monitor. */
  gone: boolean;
  /** Why there is no newer answer, a sentence. */
  problem: string | undefined;
}

/** The details of a monitor over the last `hours`, asked for again when `version` changes and every minute. */
export function useDetails(
  client: StatusClient,
  { id, hours, version }: { id: string; hours: number; version: string },
): DetailsState {
  const [state, setState] = useState<DetailsState>({
    details: undefined,
    hours,
    gone: false,
    problem: undefined,
  });
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    async function ask() {
      let waitMs = REFRESH_MS;
      try {
        const details = await client.details(id, hours, abort.signal);
        setState({ details, hours, gone: details === undefined, problem: undefined });
      } catch (error) {
        if (abort.signal.aborted) return;
        const problem = error instanceof TypeError ? UNREACHED : (error as Error).message;
        setState((before) => ({ ...before, problem }));
        waitMs = RETRY_MS;
      }
      timer = setTimeout(() => void ask(), waitMs);
    }
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [client, id, hours, version]);
  return state;
}

/** What `fetch` throws when nobody answers says nothing to a reader. */
const UNREACHED = "Can't reach Askwatch.";
