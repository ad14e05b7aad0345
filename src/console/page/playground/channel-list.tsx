import { useRef, useState } from 'preact/hooks';
import { PlusIcon } from '../shared/icons.tsx';
import { hashOf } from './address.ts';
import { InlineName } from './messages/inline-name.tsx';

/** The channels, with how much of each is unread, and the way to make another. */
export function ChannelList(props: {
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
          label="Name of the new channel"
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
      class={news ? 'news' : ''}
      onClick={onGo}
      {...(isHere && { 'aria-current': 'page' })}
    >
      <span aria-hidden="true">#</span>
      <span class="name clipped">{channel}</span>
      {news && (
        <span class="count">
          {unread > 99 ? '99+' : unread}
          <span class="unseen"> unread</span>
        </span>
      )}
    </a>
  );
}
