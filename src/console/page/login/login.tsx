import { useRef, useState } from 'preact/hooks';
import { submitting } from '../shared/form.tsx';
import { Mark } from '../shared/icons.tsx';
import { errorSentence, sendJson, UNREACHED } from '../shared/requests.ts';

export function Login({ to }: { to: string }) {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState('');
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);

  async function logIn() {
    if (busy) return;
    setBusy(true);
    setProblem('');
    const refusal = await tryPassword(input.current?.value ?? '');
    if (refusal === undefined) return location.replace(to);
    setBusy(false);
    setProblem(refusal);
    input.current?.select();
  }

  return (
    <main class="login">
      <Mark />
      <h1>Log in to Askwatch</h1>
      <form method="post" onSubmit={submitting(() => void logIn())}>
        {/* Password managers want a user name. */}
        <input
          hidden
          readOnly
          type="text"
          name="username"
          autocomplete="username"
          value="askwatch"
        />
        <div class="label">
          <label for="password">Password</label>
          <button type="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
            Show<span class="unseen"> the password</span>
          </button>
        </div>
        <input
          ref={input}
          id="password"
          name="password"
          {...(shown ? { type: 'text' } : { type: 'password' })}
          autocomplete="current-password"
          autocapitalize="off"
          spellcheck={false}
          required
          autofocus
          maxLength={1_000}
          aria-invalid={problem !== ''}
          aria-describedby="problem"
        />
        <p id="problem" class="problem" role="alert">
          {problem}
        </p>
        <button type="submit" class="submit" aria-disabled={busy}>
          {busy ? 'Logging in…' : 'Log in'}
        </button>
      </form>
      <p class="note">
        The password is set by <code>CONSOLE_PASSWORD</code> on the server.
      </p>
    </main>
  );
}

/** Resolves to the sentence of a refusal, or to `undefined` after a login. */
async function tryPassword(password: string): Promise<string | undefined> {
  const response = await sendJson('POST', '/console/login', { password }).catch(() => undefined);
  if (!response) return UNREACHED;
  return response.ok ? undefined : await errorSentence(response);
}
