import { Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  AnswerBody,
  AnswerStep,
  CardAction,
  InteractionOutcome,
} from '../../../shared/api-types.ts';
import { linkOf, ratingOfButton, stepInWords } from '../../../shared/from-bot.ts';
import { MarkdownView } from '../../markdown/markdown-view.ts';
import { keep, readKept } from '../../shared/storage.ts';
import { CardButton } from './card-button.tsx';

export function AnswerView(props: {
  answer: AnswerBody;
  fileAt: string | undefined;
  onPress: (action: CardAction) => Promise<InteractionOutcome | undefined>;
}) {
  const { answer, fileAt, onPress } = props;
  const { actions = [], document } = answer;
  const ratingKey = `rating ${actions.find(ratingOfButton)?.values.answer ?? ''}`;
  const [rating, setRating] = useState(() => readKept('sessionStorage', ratingKey));
  async function press(action: CardAction) {
    const outcome = await onPress(action);
    const pressed = ratingOfButton(action);
    // Only the first press of a double click counts; the second one returns `nothing`.
    if (!pressed || !outcome || outcome.shown === 'nothing') return;
    // A second press removes the rating.
    const now = pressed === rating ? '' : pressed;
    keep('sessionStorage', ratingKey, now);
    setRating(now);
  }
  return (
    <>
      <AnswerText answer={answer} />
      {document && fileAt !== undefined && (
        <p class="footer">
          <a href={fileAt} download={document.name}>
            {`Download ${document.name}`}
          </a>
        </p>
      )}
      {actions.length > 0 && (
        // Outside of the busy text, which a screen reader may skip.
        <div class="actions under-answer flow">
          {actions.map((action) => (
            <CardButton
              key={JSON.stringify(action)}
              action={action}
              pressed={ratingOfButton(action) && ratingOfButton(action) === rating}
              onPress={press}
            />
          ))}
        </div>
      )}
    </>
  );
}

/** The answer's words, with a caret at their end while they grow. */
function AnswerText({ answer }: { answer: AnswerBody }) {
  const { text, growing, steps = [], note, footer } = answer;
  const shown = useRef<HTMLDivElement>(null);
  const view = useRef<MarkdownView>(undefined);
  const [whyPlain, setWhyPlain] = useState<string>();

  useEffect(() => {
    if (shown.current) view.current = new MarkdownView(shown.current, setWhyPlain);
    return () => view.current?.close();
  }, []);
  useEffect(() => view.current?.show(text, growing), [text, growing]);

  const thinking = growing && text === '';
  const running = growing ? steps.findLast(({ state }) => state === 'running') : undefined;
  const ended = growing ? [] : steps.filter(({ state }) => state !== 'running');
  return (
    <div aria-busy={growing}>
      {thinking && (
        <p class="thinking">
          {!running && <span class="unseen">Askwatch is thinking</span>}
          <i />
          <i />
          <i />
          {running && <Running step={running} />}
        </p>
      )}
      <div ref={shown} class={growing ? 'markdown growing' : 'markdown'} hidden={thinking} />
      {running && !thinking && (
        <p class="running">
          <Running step={running} />
        </p>
      )}
      {whyPlain !== undefined && <p class="footer fine">{whyPlain}</p>}
      {note !== undefined && <p class="note">{note}</p>}
      {ended.length > 0 && <LookUps steps={ended} />}
      {footer !== undefined && footer !== '' && <p class="footer fine">{footer}</p>}
    </div>
  );
}

const Running = ({ step }: { step: AnswerStep }) => (
  <span class="fine">{`Looking up ${step.what}…`}</span>
);

function LookUps({ steps }: { steps: readonly AnswerStep[] }) {
  return (
    <p class="footer fine">
      {'Looked up '}
      {steps.map((step, index) => (
        <Fragment key={step.id}>
          {index > 0 && ' · '}
          <StepView step={step} />
        </Fragment>
      ))}
    </p>
  );
}

function StepView({ step }: { step: AnswerStep }) {
  const words = stepInWords(step);
  const link = linkOf({ link: { label: step.what, url: step.url ?? '' } });
  if (!link) return words;
  return (
    <>
      <a href={link.url} target="_blank" rel="noopener noreferrer">
        {link.label}
      </a>
      {words.slice(step.what.length)}
    </>
  );
}
