import { useContext, useEffect, useRef } from 'preact/hooks';
import type { InteractionOutcome, ListedMessage } from '../../shared/api-types.ts';
import { CloseIcon } from '../shared/icons.tsx';
import { Composer, type ComposerControl } from './composer/composer.tsx';
import { MessageView } from './messages/message-view.tsx';
import { Scroller } from './messages/scroller.tsx';
import { Reader } from './reader-context.ts';
import type { PressedButton } from './requests.ts';
import { isOwn, type OpenThread } from './state.ts';

/** A thread that opens by itself must not take the focus from someone who is typing. */
function isTyping(): boolean {
  const at = document.activeElement;
  return at instanceof HTMLInputElement || (at instanceof HTMLTextAreaElement && at.value !== '');
}

export function ThreadPanel(props: {
  thread: OpenThread;
  listed: ListedMessage | undefined;
  channel: string;
  onSay: (text: string, files: string[]) => Promise<void>;
  onClose: () => void;
  /** A failure is shown in the composer `at`. */
  onPress: (
    pressed: PressedButton,
    at: ComposerControl | null,
  ) => Promise<InteractionOutcome | undefined>;
}) {
  const { thread, listed, channel, onSay, onClose, onPress } = props;
  const composer = useRef<ComposerControl>(null);
  const { person } = useContext(Reader);
  const press = (pressed: PressedButton) => onPress(pressed, composer.current);
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
        if (event.key === 'Escape' && !event.defaultPrevented) onClose();
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
          place={{ channel, thread: thread.root }}
          placeholder="Ask a follow-up"
          onSay={onSay}
        />
      )}
    </aside>
  );
}
