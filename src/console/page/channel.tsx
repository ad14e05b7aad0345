import { Fragment, type RefObject } from 'preact';
import type { Pressed } from './client.ts';
import { Composer, type ComposerControl } from './composer.tsx';
import { EmptyState } from './empty-state.tsx';
import { MessageView } from './message-view.tsx';
import { dayName } from './moment.tsx';
import { Scroller } from './scroller.tsx';
import { isOwn, type State } from './state.ts';
import { ThreadLink } from './thread-link.tsx';

/** The channel: its messages, oldest first, and the line to type in. */
export function Channel(props: {
  state: State;
  composer: RefObject<ComposerControl | null>;
  openRoot: string | undefined;
  onSay: (text: string) => Promise<void>;
  onOpenThread: (root: string) => void;
  onDismiss: (message: string) => void;
  /** `at` is where to say that it did not work. */
  onPress: (pressed: Pressed, at: ComposerControl | null) => Promise<void>;
}) {
  const { state, composer, openRoot, onSay, onOpenThread, onDismiss, onPress } = props;
  const { messages } = state;
  const known = state.channels.length > 0;
  const last = messages.at(-1)?.message;
  return (
    <main class="channel" aria-label="general">
      <div class="bar">
        <h2>
          <span aria-hidden="true">#</span> general
        </h2>
        <p>Ask a model, watch your services</p>
      </div>
      <Scroller label="Messages" follow={`${last?.id} ${messages.length}`} own={isOwn(last)}>
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
                <h3 class="day">
                  <span>{name}</span>
                </h3>
              )}
              <MessageView
                message={message}
                selected={message.id === openRoot}
                onDismiss={onDismiss}
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
      <Composer
        control={composer}
        label="Message to general"
        draft="general"
        placeholder="Ask, or / for commands"
        commands={state.commands}
        onSay={onSay}
      />
    </main>
  );
}
