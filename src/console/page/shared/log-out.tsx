import { useEffect, useState } from 'preact/hooks';
import type { SessionState } from '../../shared/api-types.ts';
import { forgetDrafts } from './draft.ts';
import { sendJson } from './requests.ts';
import { fetchSessionState, loginAddress } from './session.ts';

/** The way out for who is logged in, and the way in for who is not; nothing where no password is set. */
export function LogOut() {
  const [state, setState] = useState<SessionState['state']>('open');
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    // That a server cannot be reached the page itself shows.
    fetchSessionState().then(setState, () => setState('open'));
  }, []);

  async function logOut() {
    setFailed(false);
    const answer = await sendJson('POST', '/console/logout', {}).catch(() => undefined);
    if (!answer?.ok) return setFailed(true);
    forgetDrafts();
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
