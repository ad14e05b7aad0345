import { Mark } from './icons.tsx';
import { LogOut } from './log-out.tsx';
import { PagesNav } from './pages-nav.tsx';
import type { State } from './state.ts';

const CONNECTION = {
  connecting: 'Connecting…',
  open: 'Live',
  lost: 'Connection lost, trying again…',
};

/** The name, the channels and every command; on a phone only the name and the connection. */
export function Sidebar({ state, onTry }: { state: State; onTry: (line: string) => void }) {
  return (
    <header class="sidebar">
      <h1 class="brand">
        <Mark />
        Askwatch
      </h1>
      <PagesNav here="/" />
      <nav class="channels" aria-label="Channels">
        <h2>Channels</h2>
        <ul>
          {state.channels.map((channel) => (
            <li key={channel}>
              <a href={`#/${channel}`} aria-current="page">
                <span aria-hidden="true">#</span> {channel}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section class="commands" aria-label="Commands">
        <h2>Commands</h2>
        <ul>
          {state.commands.map(({ name, summary, fields }) => (
            <li key={name}>
              <button
                type="button"
                onClick={() => onTry(fields.length > 0 ? `/${name} ` : `/${name}`)}
              >
                <code>/{name}</code>
                <span>{summary}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <p class={`connection ${state.connection}`} role="status">
        {CONNECTION[state.connection]}
      </p>
      <LogOut />
    </header>
  );
}
