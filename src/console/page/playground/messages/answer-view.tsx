import { useEffect, useRef, useState } from 'preact/hooks';
import type { Body, CardAction } from '../../../shared/api-types.ts';
import { createMarkdownView, type MarkdownView } from '../../markdown/markdown-view.ts';
import { CardButton } from './card-button.tsx';

type Answer = Body & { kind: 'answer' };

/** An answer with its buttons. */
export function AnswerView({
  answer,
  onPress,
}: {
  answer: Answer;
  onPress: (action: CardAction) => Promise<void>;
}) {
  const { actions = [] } = answer;
  return (
    <>
      <AnswerText answer={answer} />
      {actions.length > 0 && (
        // Not inside what is busy: a screen reader may pass over all of that.
        <div class="actions under-answer flow">
          {actions.map((action) => (
            <CardButton key={JSON.stringify(action)} action={action} onPress={onPress} />
          ))}
        </div>
      )}
    </>
  );
}

/** Its words, drawn again as they grow, with a caret at their end until they are whole. */
function AnswerText({ answer }: { answer: Answer }) {
  const { text, growing, note, footer } = answer;
  const shown = useRef<HTMLDivElement>(null);
  const view = useRef<MarkdownView>(undefined);
  const [whyPlain, setWhyPlain] = useState<string>();

  useEffect(() => {
    if (shown.current) view.current = createMarkdownView(shown.current, setWhyPlain);
    return () => view.current?.close();
  }, []);
  useEffect(() => view.current?.show(text, growing), [text, growing]);

  const thinking = growing && text === '';
  return (
    <div aria-busy={growing}>
      {thinking && (
        <p class="thinking">
          <span class="unseen">Askwatch is thinking</span>
          <i />
          <i />
          <i />
        </p>
      )}
      <div ref={shown} class={growing ? 'markdown growing' : 'markdown'} hidden={thinking} />
      {whyPlain !== undefined && <p class="footer fine">{whyPlain}</p>}
      {note !== undefined && <p class="note">{note}</p>}
      {footer !== undefined && footer !== '' && <p class="footer fine">{footer}</p>}
    </div>
  );
}
