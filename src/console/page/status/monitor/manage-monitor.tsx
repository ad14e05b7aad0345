import { useEffect, useRef, useState } from 'preact/hooks';
import type { Card, CardAction, InteractionOutcome, ShownForm } from '../../../shared/api-types.ts';
import { FIRST_CHANNEL } from '../../../shared/first-channel.ts';
import type { StatusMonitor } from '../../../status/api-types.ts';
import { FormDialog } from '../../playground/composer/form-dialog.tsx';
import { CardButton } from '../../playground/messages/card-button.tsx';
import { CardView } from '../../playground/messages/card-view.tsx';
import { dismissMessage, pressButton, sendForm } from '../../playground/requests.ts';
import { randomId } from '../../shared/random-id.ts';
import { sentenceOf } from '../../shared/requests.ts';

/** Replies appear there, too, so that everyone sees who changed what. */
const PLACE = { channel: FIRST_CHANNEL };

/** A card that asks before it does something. */
interface AskedCard {
  message: string;
  card: Card;
}

/** Buttons that change the monitor with the commands, forms and cards of the chat. */
export function ManageMonitor(props: {
  id: string;
  /** Absent once it is removed. */
  monitor: StatusMonitor | undefined;
  onChange: () => void;
}) {
  const { id, monitor, onChange } = props;
  const [form, setForm] = useState<ShownForm>();
  const [question, setQuestion] = useState<AskedCard>();
  const [result, setResult] = useState<Card>();

  function follow(outcome: InteractionOutcome): InteractionOutcome {
    if (outcome.shown === 'form') setForm(withMonitor(outcome.form, id));
    if (!('reply' in outcome) || !outcome.reply) return outcome;
    const { card, private: isPrivate } = outcome.reply;
    if (isPrivate && card.actions?.length) setQuestion({ message: outcome.message, card });
    else setResult(card);
    onChange();
    return outcome;
  }

  /** The page's own buttons are under no message; for such a press any id will do. */
  async function press(action: CardAction, message = randomId()) {
    setResult(undefined);
    try {
      follow(await pressButton({ action, message, private: true }, PLACE));
    } catch (error) {
      setResult({ tone: 'bad', title: sentenceOf(error), parts: [] });
    }
  }

  const buttons: CardAction[] = [
    { label: 'Edit', command: 'monitor change', values: { monitor: id } },
    monitor?.status === 'PAUSED'
      ? { label: 'Resume', command: 'monitor resume', values: { monitor: id } }
      : { label: 'Pause', command: 'monitor pause', values: { monitor: id } },
    { label: 'Maintenance', command: 'monitor maintenance plan', values: {} },
    { label: 'Remove', command: 'monitor remove', values: { monitor: id }, style: 'danger' },
  ];
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: these are no fields of a form. */}
      <div class="manage actions flow" role="group" aria-label="Manage this monitor">
        {monitor &&
          buttons.map((action, at) => <CardButton key={at} action={action} onPress={press} />)}
      </div>
      <p class={result?.tone} role="status">
        {result && resultText(result)}
      </p>
      {form && (
        <FormDialog
          form={form}
          onSend={async (values) => follow(await sendForm(form.command, values, PLACE))}
          onClose={() => setForm(undefined)}
        />
      )}
      {question && (
        <QuestionDialog
          card={question.card}
          onPress={(action) => press(action, question.message)}
          onClose={() => {
            void dismissMessage(question.message);
            setQuestion(undefined);
          }}
        />
      )}
    </>
  );
}

/** The form without the input that says which monitor is meant. */
function withMonitor(form: ShownForm, id: string): ShownForm {
  const fields = Object.entries(form.fields).map(([choice, all]) => [
    choice,
    all.filter(({ name }) => name !== 'monitor'),
  ]);
  return {
    ...form,
    fields: Object.fromEntries(fields),
    carried: { ...form.carried, monitor: id },
  };
}

/** The title, and why it failed if it did. */
function resultText({ tone, title, parts }: Card): string {
  const reasons = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  return tone === 'good' ? title : [title, ...reasons].join(': ');
}

/** A card that asks first, with its buttons. */
function QuestionDialog(props: {
  card: Card;
  onPress: (action: CardAction) => Promise<void>;
  onClose: () => void;
}) {
  const { card, onPress, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => dialog.current?.close();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="form-dialog question" aria-label={card.title} onClose={onClose}>
      <CardView card={card} onPress={(action) => onPress(action).then(close)} />
      <div class="form-foot flow">
        <button type="button" class="plain" onClick={close}>
          Cancel
        </button>
      </div>
    </dialog>
  );
}
