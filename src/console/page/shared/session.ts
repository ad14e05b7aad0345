import type { SessionState } from '../../shared/api-types.ts';

export async function fetchSessionState(): Promise<SessionState['state']> {
  const response = await fetch('/console/session');
  if (!response.ok) throw new Error(`Askwatch answered with status ${response.status}.`);
  return ((await response.json()) as SessionState).state;
}

export function loginAddress(): string {
  const to = encodeURIComponent(location.pathname + location.search);
  return `/login?to=${to}${location.hash}`;
}

/** Opens the login if the answer says that the session has ended, and then returns true. */
export function leadsToLogin({ status }: Pick<Response, 'status'>): boolean {
  if (status !== 401) return false;
  location.replace(loginAddress());
  return true;
}

/** Opens the login after a refused event stream if the session has ended. Browsers hide the stream's status. */
export async function leadToLoginIfOut(): Promise<void> {
  const state = await fetchSessionState().catch(() => undefined);
  if (state === 'out') location.replace(loginAddress());
}

/** Opens the login if the server refuses `path`, for pages that may be public. */
export async function leadToLoginIfRefused(path: string): Promise<void> {
  const response = await fetch(path, { method: 'HEAD' }).catch(() => undefined);
  if (response) leadsToLogin(response);
}
