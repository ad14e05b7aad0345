import { useId, useRef, useState } from 'preact/hooks';
import type { ConsolePerson } from '../../shared/api-types.ts';
import { Connection } from '../shared/connection.tsx';
import { FoldIcon, MenuIcon, PlusIcon } from '../shared/icons.tsx';
import { TopBar } from '../shared/top-bar.tsx';
import { Version } from '../shared/version.tsx';
import { hashOf } from './address.ts';
import { Avatar } from './avatar.tsx';
import { InlineName } from './messages/inline-name.tsx';
import { createChannel, rename } from './requests.ts';
import { type ChatState, isOwn } from './state.ts';

export const HELP = '/askwatch help';

/** The top bar, and the channels, commands and the reader's name. In a narrow window these are behind a menu button. */
export function Sidebar(props: {
  state: ChatState;
  here: string;
  unread: ReadonlyMap<string, number>;
  onGo: (channel: string) => void;
  onTry: (line: string) => void;
}) {
  const { state, here, unread, onGo, onTry } = props;
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLButtonElement>(null);
  const close = () => setOpen(false);
  const help = () => {
    close();
    onTry(HELP);
  };
  const news = [...unread].some(([channel, count]) => channel !== here && count > 0);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the controls are in it; keys and focus only close the menu.
    <div
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
      <TopBar
        here="/"
        onHelp={help}
        end={
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
        }
      >
        <Connection state={state.connection} />
      </TopBar>
      <div id="side" class="side">
        <ChannelList
          channels={state.channels}
          here={here}
          unread={unread}
          onGo={close}
          onCreate={async (name) => {
            onGo(await createChannel(name));
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
          <You person={state.person} />
          <p class="foot flow fine">
            <button type="button" onClick={help}>
              Help
            </button>
            <Version />
          </p>
        </div>
      </div>
    </div>
  );
}

/** All commands. The list is folded once the reader has used the chat. */
function CommandList(props: {
  commands: ChatState['commands'];
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
          class="fold beside"
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
              title={summary}
              onClick={() => onTry(fields.length > 0 ? `/${name} ` : `/${name}`)}
            >
              <code>/{name}</code>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function ChannelList(props: {
  channels: string[];
  here: string;
  unread: ReadonlyMap<string, number>;
  onGo: () => void;
  /** Throws an `Error` with a sentence to show. */
  onCreate: (name: string) => Promise<void>;
}) {
  const { channels, here, unread, onGo, onCreate } = props;
  const [naming, setNaming] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <nav class="channels" aria-label="Channels">
      <div class="side-title">
        <h2>Channels</h2>
        <button
          ref={button}
          type="button"
          class="square"
          aria-label="New channel"
          title="New channel"
          aria-expanded={naming}
          onClick={() => setNaming(!naming)}
        >
          <PlusIcon />
        </button>
      </div>
      {naming && (
        <InlineName
          label="New channel name"
          value=""
          onSave={onCreate}
          onDone={() => {
            setNaming(false);
            button.current?.focus();
          }}
        />
      )}
      <ul>
        {channels.map((channel) => (
          <li key={channel}>
            <ChannelLink
              channel={channel}
              isHere={channel === here}
              unread={unread.get(channel)}
              onGo={onGo}
            />
          </li>
        ))}
      </ul>
    </nav>
  );
}

function ChannelLink(props: {
  channel: string;
  isHere: boolean;
  unread: number | undefined;
  onGo: () => void;
}) {
  const { channel, isHere, unread = 0, onGo } = props;
  const news = unread > 0 && !isHere;
  return (
    <a
      href={hashOf({ channel, root: undefined })}
      class={news ? 'beside news' : 'beside'}
      onClick={onGo}
      aria-current={isHere ? 'page' : undefined}
    >
      <span aria-hidden="true">#</span>
      <span class="name clipped">{channel}</span>
      {news && (
        <span class="pill filled">
          {unread > 99 ? '99+' : unread}
          <span class="unseen"> unread</span>
        </span>
      )}
    </a>
  );
}

function You({ person }: { person: ConsolePerson }) {
  const [naming, setNaming] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  if (person.id === '') return null;
  const done = () => {
    setNaming(false);
    // The button must be drawn first.
    requestAnimationFrame(() => button.current?.focus());
  };
  return (
    <section class="you-here" aria-label="You">
      {naming ? (
        <InlineName label="Your name" value={person.name} onSave={rename} onDone={done} />
      ) : (
        <button ref={button} type="button" class="beside" onClick={() => setNaming(true)}>
          <Avatar someone={person} name={person.name} />
          <span class="name clipped">{person.name}</span>
          <span class="fine">Change name</span>
        </button>
      )}
    </section>
  );
}
