import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Outcome } from '../../shared/api-types.ts';
import { keepForm, keptForm, type Where } from '../shared/draft.ts';
import { useLiveState } from '../shared/live-state.ts';
import { sentenceOf } from '../shared/requests.ts';
import { readAddress, useAddress } from './address.ts';
import { Channel } from './channel.tsx';
import type { Client, Pressed } from './client.ts';
import type { ComposerControl } from './composer/composer.tsx';
import { FormDialog } from './composer/form-dialog.tsx';
import { Reader } from './reader-context.ts';
import { HELP, Sidebar } from './sidebar.tsx';
import type { State } from './state.ts';
import { ThreadPanel } from './thread-panel.tsx';
import { useUnread } from './unread.ts';

/** The chat: channels and commands at the side, the channel, the open thread, and the form that is being filled in. */
export function Playground({ client }: { client: Client }) {
  const state = useLiveState(client);
  const [{ channel, root }, go] = useAddress();
  const composer = useRef<ComposerControl>(null);
  const [form, setForm] = useState(keptForm);
  useLayoutEffect(() => keepForm(form), [form]);
  /** What the line is given once it is shown: another line, or the focus alone. */
  const [next, setNext] = useState<{ line?: string }>();
  // Before the browser goes on: Enter right after the click is meant for this line.
  useLayoutEffect(() => {
    if (next?.line !== undefined) composer.current?.fill(next.line);
    else if (next) composer.current?.focus();
  }, [next]);
  const unread = useUnread(state, channel);
  useTitle(client, state);
  useLayoutEffect(() => {
    if (!new URLSearchParams(location.search).has('help')) return;
    history.replaceState(null, '', location.pathname + location.hash);
    setNext({ line: HELP });
  }, []);
  useEffect(() => client.openThread(root), [client, root]);

  /** Leads to where something has come up, unless the reader has gone elsewhere meanwhile. */
  function follow(said: Outcome, where: Where) {
    if (said.shown === 'form') setForm({ form: said.form, where });
    const isHere = readAddress().channel === where.channel;
    if (said.shown === 'thread' && said.message !== where.thread && isHere) {
      go({ channel: where.channel, root: said.message });
    }
    return said;
  }

  const openThread = (next: string | undefined) => go({ channel, root: next });
  const inThread = root === undefined ? { channel } : { channel, thread: root };

  async function say(text: string, files: string[], where: Where) {
    follow(await client.send(text, files, where), where);
  }

  /** Resolves to `undefined` when the press failed, which the line then says. */
  async function press(pressed: Pressed, where: Where, at: ComposerControl | null) {
    at?.complain('');
    try {
      return follow(await client.press(pressed, where), where);
    } catch (error) {
      at?.complain(sentenceOf(error));
      return undefined;
    }
  }

  const { person, names, commands } = state;
  const { suggest, dismiss, upload } = client;
  const reader = useMemo(
    () => ({ person, names, commands, suggest, dismiss, upload }),
    [person, names, commands],
  );
  const listed = state.messages.find(({ message }) => message.id === root) ?? state.thread?.listed;
  const open = state.thread !== undefined && root !== undefined;
  return (
    <Reader.Provider value={reader}>
      <div class={open ? 'playground with-thread' : 'playground'}>
        <Sidebar
          state={state}
          client={client}
          unread={unread}
          here={channel}
          onGo={(next) => go({ channel: next, root: undefined })}
          onTry={(line) => {
            if (isNarrow()) openThread(undefined);
            setNext({ line });
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
        {open && state.thread && (
          <ThreadPanel
            key={root}
            thread={state.thread}
            listed={listed}
            channel={channel}
            onSay={(text, files) => say(text, files, inThread)}
            onClose={() => {
              openThread(undefined);
              setNext({});
            }}
            onPress={(pressed, at) => press(pressed, inThread, at)}
          />
        )}
        {form && (
          <FormDialog
            form={form.form}
            onChange={(values) => keepForm({ ...form, form: { ...form.form, values } })}
            onSend={async (values) =>
              follow(await client.sendForm(form.form.command, values, form.where), form.where)
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

/** Whether the thread covers the channel; `narrow.css` says from where on. */
const isNarrow = () => matchMedia('(max-width: 760px)').matches;

/** What has come while the tab was in the background stands before its name. */
function useTitle(client: Client, state: State) {
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
