import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { InteractionOutcome, ShownForm } from '../../shared/api-types.ts';
import { useLiveState } from '../shared/live-state.ts';
import { sentenceOf } from '../shared/requests.ts';
import { readAddress, useAddress } from './address.ts';
import { Channel } from './channel.tsx';
import type { ChatClient } from './client.ts';
import type { ComposerControl } from './composer/composer.tsx';
import { FormDialog } from './composer/form-dialog.tsx';
import { Reader } from './reader-context.ts';
import { type ChatPlace, type PressedButton, pressButton, sendForm, sendLine } from './requests.ts';
import { HELP, Sidebar } from './sidebar.tsx';
import type { ChatState } from './state.ts';
import { ThreadPanel } from './thread-panel.tsx';
import { useUnread } from './unread.ts';

/** The chat: the sidebar, a channel, the open thread, and a form over them. */
export function Playground({ client }: { client: ChatClient }) {
  const state = useLiveState(client);
  const [{ channel, root }, go] = useAddress();
  const composer = useRef<ComposerControl>(null);
  const focusComposer = useNextLine(composer);
  const { form, setForm, follow } = useOutcomes(go);
  const unread = useUnread(state, channel);
  useTitle(client, state);
  useEffect(() => client.openThread(root), [client, root]);

  const openThread = (next: string | undefined) => go({ channel, root: next });
  const inThread = root === undefined ? { channel } : { channel, thread: root };

  async function say(text: string, files: string[], place: ChatPlace) {
    follow(await sendLine(text, files, place), place);
  }

  /** Resolves to `undefined` if the press failed; the composer then shows why. */
  async function press(pressed: PressedButton, place: ChatPlace, at: ComposerControl | null) {
    at?.complain('');
    try {
      return follow(await pressButton(pressed, place), place);
    } catch (error) {
      at?.complain(sentenceOf(error));
      return undefined;
    }
  }

  const { person, names, commands, thread } = state;
  const { dismiss } = client;
  const reader = useMemo(
    () => ({ person, names, commands, dismiss }),
    [person, names, commands, dismiss],
  );
  const listed = state.messages.find(({ message }) => message.id === root) ?? thread?.listed;
  const isOpen = thread !== undefined && root !== undefined;
  return (
    <Reader.Provider value={reader}>
      <div class={isOpen ? 'playground with-thread' : 'playground'}>
        <Sidebar
          state={state}
          unread={unread}
          here={channel}
          onGo={(next) => go({ channel: next, root: undefined })}
          onTry={(line) => {
            if (isNarrow()) openThread(undefined);
            focusComposer(line);
          }}
        />
        <Channel
          state={state}
          channel={channel}
          composer={composer}
          key={channel}
          openRoot={root}
          onSay={(text, files) => say(text, files, { channel })}
          onOpenThread={openThread}
          onPress={(pressed, at) => press(pressed, { channel }, at)}
          onOlder={() => client.fetchOlder(channel)}
        />
        {isOpen && (
          <ThreadPanel
            key={root}
            thread={thread}
            listed={listed}
            channel={channel}
            onSay={(text, files) => say(text, files, inThread)}
            onClose={() => {
              openThread(undefined);
              focusComposer();
            }}
            onPress={(pressed, at) => press(pressed, inThread, at)}
          />
        )}
        {form && (
          <FormDialog
            form={form.form}
            onSend={async (values) =>
              follow(await sendForm(form.form.command, values, form.place), form.place)
            }
            onClose={() => setForm(undefined)}
          />
        )}
        <p class="unseen" role="status" aria-live="polite" aria-atomic="true">
          {state.announcement}
        </p>
      </div>
    </Reader.Provider>
  );
}

/** True if the thread covers the channel; the same width as in `playground.css`. */
const isNarrow = () => matchMedia('(max-width: 760px)').matches;

/** Returns a function that fills the composer with a line, or only focuses it. */
function useNextLine(composer: RefObject<ComposerControl | null>) {
  const [next, setNext] = useState<{ line?: string }>();
  // A layout effect, so that an Enter right after the click goes to the composer.
  useLayoutEffect(() => {
    if (next?.line !== undefined) composer.current?.fill(next.line);
    else if (next) composer.current?.focus();
  }, [next]);
  useLayoutEffect(() => {
    if (!new URLSearchParams(location.search).has('help')) return;
    history.replaceState(null, '', location.pathname + location.hash);
    setNext({ line: HELP });
  }, []);
  return (line?: string) => setNext({ line });
}

/** The open form, and a function that leads the reader to the place of a reply. */
function useOutcomes(go: ReturnType<typeof useAddress>[1]) {
  const [form, setForm] = useState<{ form: ShownForm; place: ChatPlace }>();
  function follow(outcome: InteractionOutcome, place: ChatPlace): InteractionOutcome {
    if (outcome.shown === 'form') setForm({ form: outcome.form, place });
    // The reader may have gone to another channel in the meantime.
    const isHere = readAddress().channel === place.channel;
    if (outcome.shown === 'thread' && outcome.message !== place.thread && isHere) {
      go({ channel: place.channel, root: outcome.message });
    }
    return outcome;
  }
  return { form, setForm, follow };
}

/** Counts the messages that come while the tab is in the background in its title. */
function useTitle(client: ChatClient, state: ChatState) {
  const [seenArrivals, setSeenArrivals] = useState(0);
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
}
