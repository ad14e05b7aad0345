import { useEffect, useState } from 'preact/hooks';
import type { StatusDetails } from '../../../status/api-types.ts';
import type { StatusClient } from '../client.ts';

const REFRESH_MS = 60_000;

const RETRY_MS = 5_000;

/** The details of a monitor; older ones stay until the answer comes. */
export interface DetailsState {
  details: StatusDetails | undefined;
  hours: number;
  /** The monitor doesn't exist. */
  gone: boolean;
  /** Why the last request failed, a sentence. */
  problem: string | undefined;
}

/** Loads the details over the last `hours`, again when `version` changes and every minute. */
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
    async function load() {
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
      timer = setTimeout(() => void load(), waitMs);
    }
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [client, id, hours, version]);
  return state;
}

const UNREACHED = "Can't reach Askwatch.";
