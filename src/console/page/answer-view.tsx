import { useEffect, useRef } from 'preact/hooks';
import type { Body } from '../wire.ts';
import { renderMarkdown, showBlocks } from './markdown.ts';

/** An answer drawn while it grows takes this share of the time at most. */
const REST_FOR_EACH_DRAWING = 4;

/** An answer, drawn again as it grows, with a caret at its end until it is whole. */
export function AnswerView({ answer }: { answer: Body & { kind: 'answer' } }) {
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
