import { useEffect, useRef, useState } from 'preact/hooks';
import { errorSentence, sendJson, sentenceOf, UNREACHED } from '../shared/requests.ts';
import { leadsToLogin } from '../shared/session.ts';

/** Something that was asked for; `value` stays while newer is on its way, and when that fails. */
export interface Loaded<T> {
  value: T | undefined;
  /** Why it is not there or not new, a sentence. */
  problem: string | undefined;
  /** Resolves once it is shown. */
  reload(): Promise<void>;
}

/** What the account area has under a path; fetched again when the path changes. */
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
      const value = await askAccount<T>(path);
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

/** Asks the server of this page. Throws an `Error` with a sentence to show. */
export async function askAccount<T>(
  path: string,
  write?: { method: 'POST' | 'PATCH'; body: object },
): Promise<T> {
  const address = `/console/account/${path}`;
  const asking = write ? sendJson(write.method, address, write.body) : fetch(address);
  const response = await asking.catch(() => {
    throw new Error(UNREACHED);
  });
  if (response.status === 401) return await sessionOver(response, write !== undefined);
  if (!response.ok)
    throw new RefusedError(response.status, await errorSentence(response, ' Try again.'));
  return (await response.json()) as T;
}

/** Nothing that was typed is lost: only a reader is led to the login, and whoever sends something is shown that it did not arrive. */
function sessionOver(response: Response, isWrite: boolean): Promise<never> {
  if (isWrite) {
    throw new Error(
      'Your session has ended. Log in again in another tab and come back; what you typed stays here.',
    );
  }
  leadsToLogin(response);
  // The page is being left.
  return new Promise(() => {});
}

/** The server refused; the message is its sentence. */
export class RefusedError extends Error {
  override name = 'RefusedError' as const;
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
