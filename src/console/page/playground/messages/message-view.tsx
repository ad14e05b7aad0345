import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { CardAction, InteractionOutcome, Message } from '../../../shared/api-types.ts';
import { CloseIcon, LockIcon, Mark } from '../../shared/icons.tsx';
import { Clock } from '../../shared/moment.tsx';
import { Avatar } from '../avatar.tsx';
import { Reader, useName } from '../reader-context.ts';
import { documentAddress, type PressedButton } from '../requests.ts';
import { AnswerView } from './answer-view.tsx';
import { CardView } from './card-view.tsx';
import { SentFiles } from './sent-files.tsx';

export function MessageView(props: {
  message: Message;
  thread?: string;
  selected?: boolean;
  onPress: (pressed: PressedButton) => Promise<InteractionOutcome | undefined>;
  children?: ComponentChildren;
}) {
  const { message, thread, selected = false, onPress, children } = props;
  const { author, body, command, by } = message;
  const { person, dismiss } = useContext(Reader);
  const nameOf = useName();
  const name = author.kind === 'askwatch' ? 'Askwatch' : nameOf(author);
  const isYours = author.kind === 'person' && author.id === person.id;
  const fileAt = thread === undefined ? undefined : documentAddress(thread, message.id);
  const press = (action: CardAction) =>
    onPress({ action, message: message.id, private: message.private });
  return (
    <article
      class={selected ? 'message selected' : 'message'}
      aria-label={`Message from ${name}`}
      data-message={message.id}
    >
      <div class="avatar" aria-hidden="true">
        {author.kind === 'askwatch' ? <Mark /> : <Avatar someone={author} name={name} />}
      </div>
      <div>
        <p class="byline flow fine">
          <strong>{name}</strong>
          {isYours && <span class="you pill">you</span>}
          <Clock atMs={message.atMs} />
          {message.changedAtMs !== undefined && (
            <span>
              updated <Clock atMs={message.changedAtMs} />
            </span>
          )}
        </p>
        {(command !== undefined || by) && (
          <p class="command minor">
            in reply to {command !== undefined && <code>{command}</code>}
            {command !== undefined && by && ' by '}
            {by && (by.id === person.id ? 'you' : nameOf(by))}
          </p>
        )}
        {body.kind === 'text' && <p class="typed">{body.text}</p>}
        {body.kind === 'text' && body.files && <SentFiles files={body.files} />}
        {body.kind === 'card' && <CardView card={body.card} onPress={press} />}
        {body.kind === 'answer' && <AnswerView answer={body} fileAt={fileAt} onPress={press} />}
        {message.private && (
          <p class="private flow beside fine">
            <LockIcon /> Only you can see this
            <button type="button" onClick={() => dismiss(message.id)}>
              <CloseIcon /> Dismiss
            </button>
          </p>
        )}
        {children}
      </div>
    </article>
  );
}
