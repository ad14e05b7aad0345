import { useEffect, useRef, useState } from 'preact/hooks';
import { errorSentence, sendJson, sentenceOf, UNREACHED } from '../shared/requests.ts';
import { leadsToLogin } from '../shared/session.ts';

/** A value from the server. It stays while a newer one is requested, and if that request fails. */
export interface Loaded<T> {
  value: T | undefined;
  /** Why the value is missing or out of date, a sentence. */
  problem: string | undefined;
  /** Resolves once the new value is shown. */
  reload(): Promise<void>;
}

export function useLoaded<T>(path: string): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: undefined,
    problem: undefined,
  });
  const latest = useRef(0);

  async function reload() {
    latest.current += 1;
    const mine = latest.current;
    try {
      const value = await requestAccount<T>(path);
      if (mine === latest.current) setState({ value, problem: undefined });
    } catch (error) {
      if (mine !== latest.current) return;
      setState(({ value }) => ({ value, problem: sentenceOf(error) }));
    }
  }

  useEffect(() => {
    void reload();
    return () => {
      latest.current += 1;
    };
  }, [path]);
  return { ...state, reload };
}

export function useList<T>(path: string) {
  const loaded = useLoaded<T>(path);
  const [done, setDone] = useState('');
  return {
    loaded,
    done,
    async finish(sentence: string) {
      await loaded.reload();
      setDone(sentence);
    },
  };
}

/** Moves the focus to the section's heading, when the button that had it is gone with its row. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>('.account h2')?.focus();
}

/** Sends a request to the account area. Throws an `Error` with a sentence to show. */
export async function requestAccount<T>(
  path: string,
  write?: { method: 'POST' | 'PATCH'; body: object },
): Promise<T> {
  const address = `/console/account/${path}`;
  const sending = write ? sendJson(write.method, address, write.body) : fetch(address);
  const response = await sending.catch(() => {
    throw new Error(UNREACHED);
  });
  if (response.status === 401) return await endOfSession(response, write !== undefined);
  if (!response.ok)
    throw new RefusedError(response.status, await errorSentence(response, ' Try again.'));
  return (await response.json()) as T;
}

/** Leads a reader to the login. After a write, an error keeps the page and everything that was typed. */
function endOfSession(response: Response, isWrite: boolean): Promise<never> {
  if (isWrite) {
    throw new Error(
      'Your session has ended. Log in again in another tab and come back; what you typed stays here.',
    );
  }
  leadsToLogin(response);
  // The browser is leaving this page.
  return new Promise(() => {});
}

export class RefusedError extends Error {
  override name = 'RefusedError' as const;
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
