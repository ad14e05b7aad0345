import { useEffect, useRef } from 'preact/hooks';
import type { Body, CardAction } from '../wire.ts';
import { CardButton } from './card-button.tsx';
import { renderMarkdown, showBlocks } from './markdown.ts';

/** An answer drawn while it grows takes this share of the time at most. */
const REST_FOR_EACH_DRAWING = 4;

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
        <div class="actions under-answer">
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
  const newest = useRef(text);
  const restUntilMs = useRef(0);
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  newest.current = text;

  useEffect(() => {
    function draw() {
      waiting.current = undefined;
      const startedAtMs = performance.now();
      if (shown.current) showBlocks(shown.current, renderMarkdown(newest.current));
      const tookMs = performance.now() - startedAtMs;
      restUntilMs.current = performance.now() + tookMs * REST_FOR_EACH_DRAWING;
    }
    if (!growing) {
      clearTimeout(waiting.current);
      draw();
      return;
    }
    waiting.current ??= setTimeout(draw, Math.max(0, restUntilMs.current - performance.now()));
  }, [text, growing]);
  useEffect(() => () => clearTimeout(waiting.current), []);

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
      {note !== undefined && <p class="note">{note}</p>}
      {footer !== undefined && footer !== '' && <p class="footer">{footer}</p>}
    </div>
  );
}
