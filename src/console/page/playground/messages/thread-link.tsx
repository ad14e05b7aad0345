import type { ListedMessage } from '../../../shared/api-types.ts';
import { ReplyIcon } from '../../shared/icons.tsx';
import { Moment } from '../../shared/moment.tsx';

/** Leads from a message to the thread under it. */
export function ThreadLink({
  thread,
  onOpen,
}: {
  thread: ListedMessage['thread'];
  onOpen: () => void;
}) {
  return (
    <button
      type="button"
      class={thread.replies > 0 ? 'thread-link' : 'thread-link quiet'}
      onClick={onOpen}
    >
      <ReplyIcon />
      {thread.replies === 0 && 'Ask about this'}
      {thread.replies > 0 && (
        <b>
          {thread.replies} {thread.replies === 1 ? 'reply' : 'replies'}
        </b>
      )}
      {thread.growing && <span class="writing">Askwatch is writing…</span>}
      {!thread.growing && thread.lastAtMs !== undefined && (
        <span>
          last at <Moment atMs={thread.lastAtMs} />
        </span>
      )}
    </button>
  );
}
