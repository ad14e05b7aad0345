import { useRef, useState } from 'preact/hooks';
import { ChannelList } from './channel-list.tsx';
import type { Client } from './client.ts';
import { Mark, MenuIcon } from './icons.tsx';
import { LogOut } from './log-out.tsx';
import { PagesNav } from './pages-nav.tsx';
import type { State } from './state.ts';
import { You } from './you.tsx';

const CONNECTION = {
  connecting: 'Connecting…',
  open: 'Live',
  lost: 'Connection lost, trying again…',
};

/** The name, the channels, every command and who you are; in a narrow window they are behind a button. */
export function Sidebar(props: {
  state: State;
  client: Client;
  here: string;
  unread: ReadonlyMap<string, number>;
  onGo: (channel: string) => void;
  onTry: (line: string) => void;
}) {
  const { state, client, here, unread, onGo, onTry } = props;
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLButtonElement>(null);
  const close = () => setOpen(false);
  const news = [...unread].some(([channel, count]) => channel !== here && count > 0);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what is pressed is in it; keys and focus only close the menu.
    <header
      class={open ? 'sidebar open' : 'sidebar'}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented || !open) return;
        close();
        menu.current?.focus();
      }}
      onFocusOut={({ relatedTarget, currentTarget }) => {
        if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) close();
      }}
    >
      <h1 class="brand">
        <Mark />
        Askwatch
      </h1>
      <button
        ref={menu}
        type="button"
        class={news ? 'menu news' : 'menu'}
        aria-expanded={open}
        aria-controls="side"
        aria-label={news ? 'Menu, with unread messages' : 'Menu'}
        onClick={() => setOpen(!open)}
      >
        <MenuIcon />
      </button>
      <div id="side" class="side">
        <PagesNav here="/" />
        <ChannelList
          channels={state.channels}
          here={here}
          unread={unread}
          onGo={close}
          onCreate={async (name) => {
            onGo(await client.createChannel(name));
            close();
          }}
        />
        <CommandList
          commands={state.commands}
          onTry={(line) => {
            close();
            onTry(line);
          }}
        />
        <div class="side-end">
          <You
            person={state.person}
            onRename={async (name) => {
              await client.rename(name);
            }}
          />
          <LogOut />
        </div>
      </div>
      <p class={`connection ${state.connection}`} role="status">
        {CONNECTION[state.connection]}
      </p>
    </header>
  );
}

function CommandList(props: { commands: State['commands']; onTry: (line: string) => void }) {
  return (
    <section class="commands" aria-label="Commands">
      <h2>Commands</h2>
      <ul>
        {props.commands.map(({ name, summary, fields }) => (
          <li key={name}>
            <button
              type="button"
              onClick={() => props.onTry(fields.length > 0 ? `/${name} ` : `/${name}`)}
            >
              <code>/{name}</code>
              <span>{summary}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
