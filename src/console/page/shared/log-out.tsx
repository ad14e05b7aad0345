import { useEffect, useState } from 'preact/hooks';
import type { SessionState } from '../../shared/api-types.ts';
import { sendJson } from './requests.ts';
import { fetchSessionState, loginAddress } from './session.ts';

/** The button to log out, or the link to log in; nothing without a password. */
export function LogOut() {
  const [state, setState] = useState<SessionState['state']>('open');
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    // The page itself shows that the server can't be reached.
    fetchSessionState().then(setState, () => setState('open'));
  }, []);

  async function logOut() {
    setFailed(false);
    const answer = await sendJson('POST', '/console/logout', {}).catch(() => undefined);
    if (!answer?.ok) return setFailed(true);
    location.replace('/login');
  }

  if (state === 'open') return null;
  if (state === 'out') {
    return (
      <a class="quiet minor" href={loginAddress()}>
        Log in
      </a>
    );
  }
  return (
    <button type="button" class="quiet minor" onClick={() => void logOut()}>
      {failed ? "Couldn't log out. Try again" : 'Log out'}
    </button>
  );
}
