import { Fragment, type RefObject } from 'preact';
import type { InteractionOutcome, ListedMessage } from '../../shared/api-types.ts';
import { Mark, ReplyIcon } from '../shared/icons.tsx';
import { dayName, Moment } from '../shared/moment.tsx';
import { Composer, type ComposerControl } from './composer/composer.tsx';
import { MessageView } from './messages/message-view.tsx';
import { type OlderPart, Scroller } from './messages/scroller.tsx';
import type { PressedButton } from './requests.ts';
import { type ChatState, isOwn } from './state.ts';

export function Channel(props: {
  state: ChatState;
  channel: string;
  composer: RefObject<ComposerControl | null>;
  openRoot: string | undefined;
  onSay: (text: string, files: string[]) => Promise<void>;
  onOpenThread: (root: string) => void;
  /** A failure is shown in the composer `at`. */
  onPress: (
    pressed: PressedButton,
    at: ComposerControl | null,
  ) => Promise<InteractionOutcome | undefined>;
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
          place={{ channel }}
          label={`Message to ${channel}`}
          placeholder="Ask, or type / for commands"
          onSay={onSay}
        />
      )}
    </main>
  );
}

function olderOf(
  { state, channel, onOlder }: { state: ChatState; channel: string; onOlder: () => Promise<void> },
  messages: readonly ListedMessage[],
): OlderPart | undefined {
  const first = messages[0]?.message.id;
  return first !== undefined && state.older.includes(channel)
    ? { first, load: onOlder }
    : undefined;
}

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

/** Four lines to try; a click puts one into the composer. */
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
