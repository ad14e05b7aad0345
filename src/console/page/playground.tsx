import { useEffect, useRef, useState } from 'preact/hooks';
import type { Said } from '../wire.ts';
import { Channel } from './channel.tsx';
import { type Client, type Pressed, sentenceOf } from './client.ts';
import type { ComposerControl } from './composer.tsx';
import { Sidebar } from './sidebar.tsx';
import { ThreadPanel } from './thread-panel.tsx';
import { useClientState, useThreadInAddress } from './use-client.ts';

/** The chat: commands at the side, the channel, and the open thread. */
export function Playground({ client }: { client: Client }) {
  const state = useClientState(client);
  const [root, openThread] = useThreadInAddress();
  const composer = useRef<ComposerControl>(null);
  const [seenArrivals, setSeenArrivals] = useState(0);

  useEffect(() => client.openThread(root), [client, root]);

  useEffect(() => {
    const look = () => !document.hidden && setSeenArrivals(client.state().arrivals);
    look();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, [client, state.arrivals]);
  const unseen = state.arrivals - seenArrivals;
  useEffect(() => {
    document.title = document.hidden && unseen > 0 ? `(${unseen}) Askwatch` : 'Askwatch';
  }, [unseen]);

  function follow(said: Said) {
    if (said.shown === 'thread' && said.message !== root) openThread(said.message);
  }

  async function say(text: string, thread?: string) {
    follow(await client.say(text, thread));
  }

  async function press(pressed: Pressed, at: ComposerControl | null) {
    at?.complain('');
    try {
      follow(await client.press(pressed));
    } catch (error) {
      at?.complain(sentenceOf(error));
    }
  }

  const listed = state.messages.find(({ message }) => message.id === root);
  const open = state.thread !== undefined && root !== undefined;
  return (
    <div class={open ? 'playground with-thread' : 'playground'}>
      <Sidebar state={state} onTry={(line) => composer.current?.fill(line)} />
      <Channel
        state={state}
        composer={composer}
        openRoot={root}
        onSay={(text) => say(text)}
        onOpenThread={openThread}
        onDismiss={client.dismiss}
        onPress={press}
      />
      {open && state.thread && (
        <ThreadPanel
          key={root}
          thread={state.thread}
          listed={listed}
          commands={state.commands}
          onSay={(text) => say(text, root)}
          onClose={() => {
            openThread(undefined);
            composer.current?.focus();
          }}
          onDismiss={client.dismiss}
          onPress={press}
        />
      )}
      <p class="unseen" role="status" aria-live="polite" aria-atomic="true">
        {state.announcement}
      </p>
    </div>
  );
}
