import { Fragment, type RefObject } from 'preact';
import type { ListedMessage, Outcome } from '../../shared/api-types.ts';
import { Mark, ReplyIcon } from '../shared/icons.tsx';
import { dayName, Moment } from '../shared/moment.tsx';
import type { Pressed } from './client.ts';
import { Composer, type ComposerControl } from './composer/composer.tsx';
import { MessageView } from './messages/message-view.tsx';
import { type Older, Scroller } from './messages/scroller.tsx';
import { isOwn, type State } from './state.ts';

/** A channel: its messages, oldest first, and the line to type in. */
export function Channel(props: {
  state: State;
  channel: string;
  composer: RefObject<ComposerControl | null>;
  openRoot: string | undefined;
  onSay: (text: string, files: string[]) => Promise<void>;
  onOpenThread: (root: string) => void;
  /** `at` is where to say that it did not work. */
  onPress: (pressed: Pressed, at: ComposerControl | null) => Promise<Outcome | undefined>;
  onOlder: () => Promise<void>;
}) {
  const { state, channel, composer, openRoot, onSay, onOpenThread, onPress } = props;
  const messages = state.messages.filter((one) => one.channel === channel);
  const known = state.channels.includes(channel);
  const isMissing = state.channels.length > 0 && !known;
  const last = messages.at(-1)?.message;
  return (
    <main class="channel" aria-label={channel}>
      <div class="bar beside">
        <h2 class="clipped">
          <span aria-hidden="true">#</span> {channel}
        </h2>
        <p class="clipped aside">Ask a model, watch your services</p>
      </div>
      <Scroller
        label="Messages"
        follow={`${last?.id} ${messages.length}`}
        own={isOwn(last, state.person)}
        older={olderOf(props, messages)}
      >
        {isMissing && (
          <p class="gone">
            There's no channel with this name. <a href="#/general">Go to general</a>
          </p>
        )}
        {known && messages.length === 0 && (
          <EmptyState onTry={(line) => composer.current?.fill(line)} />
        )}
        {messages.map((listed, index) => {
          const { message, thread } = listed;
          const name = dayName(message.atMs);
          const before = messages[index - 1]?.message;
          const newDay = !before || dayName(before.atMs) !== name;
          return (
            <Fragment key={message.id}>
              {newDay && (
                <h3 class="day beside fine">
                  <span>{name}</span>
                </h3>
              )}
              <MessageView
                message={message}
                selected={message.id === openRoot}
                onPress={(pressed) => onPress(pressed, composer.current)}
              >
                {!message.private && (
                  <ThreadLink thread={thread} onOpen={() => onOpenThread(message.id)} />
                )}
              </MessageView>
            </Fragment>
          );
        })}
      </Scroller>
      {!isMissing && (
        <Composer
          control={composer}
          channel={channel}
          draft={channel}
          label={`Message to ${channel}`}
          placeholder="Ask, or type / for commands"
          onSay={onSay}
        />
      )}
    </main>
  );
}

function olderOf(
  { state, channel, onOlder }: { state: State; channel: string; onOlder: () => Promise<void> },
  messages: readonly ListedMessage[],
): Older | undefined {
  const first = messages[0]?.message.id;
  return first !== undefined && state.older.includes(channel)
    ? { first, load: onOlder }
    : undefined;
}

/** Leads from a message to the thread under it. */
function ThreadLink({ thread, onOpen }: { thread: ListedMessage['thread']; onOpen: () => void }) {
  return (
    <button type="button" class="thread-link minor" onClick={onOpen}>
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
          last reply <Moment atMs={thread.lastAtMs} />
        </span>
      )}
    </button>
  );
}

const TRIES = [
  { line: '/ask why is the sky blue', about: 'Ask a question; the answer streams into a thread' },
  { line: 'What is down?', about: 'Ask about your services; no slash needed' },
  {
    line: 'Watch https://example.com',
    about: 'Request a change; you confirm it first',
  },
  { line: '/askwatch help', about: 'See everything it can do' },
];

/** What a channel without messages says: four things to try, each a click away from the input. */
function EmptyState({ onTry }: { onTry: (line: string) => void }) {
  return (
    <section class="empty welcome">
      <Mark />
      <h3>Welcome to Askwatch</h3>
      <p>This channel works like the ones in Slack and Discord. Four things to try:</p>
      <ul>
        {TRIES.map(({ line, about }) => (
          <li key={line}>
            <button type="button" class="framed" onClick={() => onTry(line)}>
              {line.startsWith('/') ? <code>{line}</code> : <span class="line-to-try">{line}</span>}
              <span class="aside">{about}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
