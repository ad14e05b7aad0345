import { useId, useRef, useState } from 'preact/hooks';
import { Connection } from '../shared/connection.tsx';
import { FoldIcon, Mark, MenuIcon } from '../shared/icons.tsx';
import { LogOut } from '../shared/log-out.tsx';
import { PagesNav } from '../shared/pages-nav.tsx';
import { ChannelList } from './channel-list.tsx';
import type { Client } from './client.ts';
import { isOwn, type State } from './state.ts';
import { You } from './you.tsx';

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
        class={news ? 'menu square news' : 'menu square'}
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
          used={state.messages.some(({ message }) => isOwn(message, state.person))}
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
      <Connection state={state.connection} />
    </header>
  );
}

/** Every command; once the reader has used the chat it is folded, until they want it. */
function CommandList(props: {
  commands: State['commands'];
  used: boolean;
  onTry: (line: string) => void;
}) {
  const { commands, used, onTry } = props;
  const [chosen, setChosen] = useState<boolean>();
  const open = chosen ?? !used;
  const id = useId();
  if (commands.length === 0) return null;
  return (
    <section class="commands" aria-label="Commands">
      <h2>
        <button
          type="button"
          class="fold"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setChosen(!open)}
        >
          Commands
          <FoldIcon />
        </button>
      </h2>
      <ul id={id} hidden={!open}>
        {commands.map(({ name, summary, fields }) => (
          <li key={name}>
            <button
              type="button"
              onClick={() => onTry(fields.length > 0 ? `/${name} ` : `/${name}`)}
            >
              <code>/{name}</code>
              <span class="fine">{summary}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
