import { useContext, useEffect, useRef } from 'preact/hooks';
import type { ListedMessage, Outcome } from '../../shared/api-types.ts';
import { CloseIcon } from '../shared/icons.tsx';
import type { Pressed } from './client.ts';
import { Composer, type ComposerControl } from './composer/composer.tsx';
import { MessageView } from './messages/message-view.tsx';
import { Scroller } from './messages/scroller.tsx';
import { Reader } from './reader-context.ts';
import { isOwn, type OpenThread } from './state.ts';

/** Whether somebody writes something: a thread that opens by itself must not take it from under their fingers. */
function isTyping(): boolean {
  const at = document.activeElement;
  return at instanceof HTMLInputElement || (at instanceof HTMLTextAreaElement && at.value !== '');
}

/** The thread under a message: what it is about, the replies, and the line to go on asking. */
export function ThreadPanel(props: {
  thread: OpenThread;
  listed: ListedMessage | undefined;
  channel: string;
  onSay: (text: string, files: string[]) => Promise<void>;
  onClose: () => void;
  /** `at` is where to say that it did not work. */
  onPress: (pressed: Pressed, at: ComposerControl | null) => Promise<Outcome | undefined>;
}) {
  const { thread, listed, channel, onSay, onClose, onPress } = props;
  const composer = useRef<ComposerControl>(null);
  const { person } = useContext(Reader);
  const press = (pressed: Pressed) => onPress(pressed, composer.current);
  useEffect(() => {
    if (!isTyping()) composer.current?.focus();
  }, []);

  const last = thread.replies.at(-1);
  const gone = thread.status === 'gone';
  return (
    <aside
      class="thread"
      aria-label="Thread"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        onClose();
      }}
    >
      <div class="bar beside">
        <h2 class="clipped">Thread</h2>
        <button type="button" class="close square" aria-label="Close the thread" onClick={onClose}>
          <CloseIcon />
        </button>
      </div>
      <Scroller
        label="Thread messages"
        follow={`${last?.id} ${thread.replies.length}`}
        own={isOwn(last, person)}
      >
        {gone && <p class="gone">This thread was deleted to make room for newer messages.</p>}
        {!gone && listed && <MessageView message={listed.message} onPress={press} />}
        {thread.replies.length > 0 && (
          <h3 class="day beside fine">
            <span>
              {thread.replies.length} {thread.replies.length === 1 ? 'reply' : 'replies'}
            </span>
          </h3>
        )}
        {thread.replies.map((reply) => (
          <MessageView key={reply.id} message={reply} thread={thread.root} onPress={press} />
        ))}
        {thread.status === 'loading' && thread.replies.length === 0 && (
          <p class="gone">Opening the thread…</p>
        )}
      </Scroller>
      {!gone && (
        <Composer
          control={composer}
          label="Message to the thread"
          channel={channel}
          draft={thread.root}
          placeholder="Ask a follow-up"
          onSay={onSay}
        />
      )}
    </aside>
  );
}
