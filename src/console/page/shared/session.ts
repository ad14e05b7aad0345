import type { SessionState } from '../../shared/api-types.ts';

/** Whether this browser is logged in. Rejects when Askwatch cannot be reached. */
export async function fetchSessionState(): Promise<SessionState['state']> {
  const response = await fetch('/console/session');
  if (!response.ok) throw new Error(`Askwatch answered with status ${response.status}.`);
  return ((await response.json()) as SessionState).state;
}

/** The login, which leads back to where the page is. */
export function loginAddress(): string {
  const to = encodeURIComponent(location.pathname + location.search);
  return `/login?to=${to}${location.hash}`;
}

/** Leads to the login when the answer says that the session has ended; whether it does. */
export function leadsToLogin({ status }: Pick<Response, 'status'>): boolean {
  if (status !== 401) return false;
  location.replace(loginAddress());
  return true;
}

/** For an event stream that was refused, whose status a browser does not give: leads to the login when that is why. */
export async function leadToLoginIfOut(): Promise<void> {
  const state = await fetchSessionState().catch(() => undefined);
  if (state === 'out') location.replace(loginAddress());
}

/** The same by what the server says of `path`, for a page that is there for others, too. */
export async function leadToLoginIfRefused(path: string): Promise<void> {
  const response = await fetch(path, { method: 'HEAD' }).catch(() => undefined);
  if (response) leadsToLogin(response);
}
