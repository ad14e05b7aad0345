import type { ComponentChildren, RefObject } from 'preact';
import {
  useContext,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'preact/hooks';
import { Problem, submitting } from '../../shared/form.tsx';
import { AttachIcon, SendIcon } from '../../shared/icons.tsx';
import { useLiveState } from '../../shared/live-state.ts';
import { sentenceOf } from '../../shared/requests.ts';
import { Reader } from '../reader-context.ts';
import { type ChatPlace, type OfferedValue, suggestValues } from '../requests.ts';
import { AttachedFiles, useAttachedFiles } from './attached-files.tsx';
import { CommandHint, SuggestionList } from './command-help.tsx';
import { type Completion, completeLine, type LineSuggestion } from './completion.ts';
import { keepUnsent, keyOfPlace, unsentLines } from './unsent.ts';

export interface ComposerControl {
  fill(line: string): void;
  focus(): void;
  /** Shows why another action here failed; an empty text removes that. */
  complain(problem: string): void;
}

type LineInput = RefObject<HTMLTextAreaElement | null>;

/** The input line with its suggestions and files. Enter sends, Shift+Enter begins a new line. */
export function Composer(props: {
  control: RefObject<ComposerControl | null>;
  label: string;
  place: ChatPlace;
  placeholder: string;
  onSay: (text: string, files: string[]) => Promise<void>;
}) {
  const { control, label, place, placeholder, onSay } = props;
  const input: LineInput = useRef(null);
  const [problem, setProblem] = useState('');
  const attached = useAttachedFiles(place.channel, setProblem);
  const { line, isCaretAtEnd, noteCaret, change, fill, putBack } = useLine(input);
  const help = useSuggestions(line, isCaretAtEnd);
  const key = keyOfPlace(place);
  const unsent = useLiveState(unsentLines)[key];
  const [isSending, setIsSending] = useState(false);
  const isEmpty = line.trim() === '' && attached.ids.length === 0;
  const canSend = !isEmpty && !isSending && !attached.isSending;

  useEffect(() => {
    if (!unsent) return;
    putBack(unsent.text);
    attached.putBack(unsent.files);
    setProblem(unsent.problem);
  }, [unsent]);

  function fillIn(next: string) {
    fill(next);
    help.reset();
    setProblem('');
  }
  const focus = () => input.current?.focus();
  useImperativeHandle(control, () => ({ fill: fillIn, focus, complain: setProblem }), []);

  async function send() {
    if (!canSend) return;
    const text = line.trim();
    const { ids } = attached;
    const files = attached.take();
    setIsSending(true);
    setProblem('');
    change('');
    keepUnsent(key, undefined);
    help.reset();
    try {
      await onSay(text, ids);
    } catch (error) {
      // The reader may be in another channel by now, or on the way to the login.
      keepUnsent(key, { text, files, problem: sentenceOf(error) });
    }
    setIsSending(false);
  }

  function onKeyDown(event: KeyboardEvent) {
    // This Enter ends the composing of a character.
    if (event.isComposing) return;
    const suggestion = help.chooseByKey(event);
    if (suggestion) fillIn(suggestion.line);
    if (event.defaultPrevented || event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    void send();
  }

  const { suggestions, chosen, listId, hint } = help;
  return (
    <DropForm onFiles={attached.add} onDrop={focus} onSubmit={() => void send()}>
      {suggestions.length > 0 && (
        <SuggestionList
          id={listId}
          suggestions={suggestions}
          chosen={chosen}
          onTake={(suggestion) => fillIn(suggestion.line)}
        />
      )}
      {suggestions.length === 0 && hint && <CommandHint hint={hint} />}
      <Problem text={problem} />
      <AttachedFiles files={attached.files} onRemove={attached.remove} />
      <div class="line framed">
        <button
          type="button"
          class="slash square"
          aria-label="Commands"
          title="Commands"
          onClick={() => fillIn(line === '' ? '/' : line)}
        >
          /
        </button>
        <AttachButton onFiles={attached.add} onChosen={focus} />
        <textarea
          ref={input}
          rows={1}
          aria-label={label}
          aria-autocomplete="list"
          aria-controls={suggestions.length > 0 ? listId : undefined}
          aria-activedescendant={chosen === undefined ? undefined : `${listId}-${chosen}`}
          placeholder={placeholder}
          maxLength={16_000}
          value={line}
          onInput={({ currentTarget }) => {
            change(currentTarget.value);
            keepUnsent(key, undefined);
            help.reset();
          }}
          onSelect={noteCaret}
          onKeyDown={onKeyDown}
          onPaste={(event) => takeFiles(event, event.clipboardData?.files, attached.add)}
        />
        <button type="submit" class="send square filled" aria-label="Send" disabled={!canSend}>
          <SendIcon />
        </button>
      </div>
    </DropForm>
  );
}

function useLine(input: LineInput) {
  const [line, setLine] = useState('');
  const [isCaretAtEnd, setIsCaretAtEnd] = useState(true);
  const mustPlaceCaret = useRef(false);

  useLayoutEffect(() => {
    const area = input.current;
    if (!area) return;
    // The stylesheet limits the height.
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
    if (mustPlaceCaret.current) area.setSelectionRange(area.value.length, area.value.length);
    mustPlaceCaret.current = false;
  }, [line]);

  function noteCaret() {
    const area = input.current;
    setIsCaretAtEnd(!area || area.selectionEnd === area.value.length);
  }

  return {
    line,
    isCaretAtEnd,
    noteCaret,
    change(next: string) {
      setLine(next);
      noteCaret();
    },
    fill(next: string) {
      mustPlaceCaret.current = true;
      setLine(next);
      setIsCaretAtEnd(true);
      input.current?.focus();
    },
    /** Restores a line that couldn't be sent, in front of one that has been begun. */
    putBack: (text: string) =>
      setLine((current) => (current === '' ? text : `${text}\n${current}`)),
  };
}

function useSuggestions(line: string, isCaretAtEnd: boolean) {
  const { commands } = useContext(Reader);
  const [active, setActive] = useState<number>();
  /** Escape hides the suggestions for this line. */
  const [hiddenFor, setHiddenFor] = useState<string>();
  const listId = useId();
  const { suggestions: fromCommands, eager, hint, ask } = completeLine(line, commands);
  const offered = useOffered(ask).filter((one) => one.line !== line);
  const isShown = isCaretAtEnd && hiddenFor !== line;
  const suggestions = isShown ? [...fromCommands, ...offered] : [];
  const { length } = suggestions;
  const first = eager && length > 0 ? 0 : undefined;
  const chosen = active !== undefined && active < length ? active : first;

  /** Moves the choice, hides the list, or returns the chosen suggestion. */
  function chooseByKey(event: KeyboardEvent): LineSuggestion | undefined {
    if (length === 0) return undefined;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      const from = chosen ?? (step === 1 ? -1 : 0);
      setActive((from + step + length) % length);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      setHiddenFor(line);
    } else if (!event.shiftKey && (event.key === 'Tab' || event.key === 'Enter')) {
      const suggestion = suggestions[chosen ?? (event.key === 'Tab' ? 0 : -1)];
      if (suggestion) event.preventDefault();
      return suggestion;
    }
    return undefined;
  }

  return { suggestions, chosen, listId, hint, chooseByKey, reset: () => setActive(undefined) };
}

/** Values that the server offers for an input. Old values are hidden while it is asked for new ones. */
function useOffered(ask: Completion['ask']): LineSuggestion[] {
  const [offered, setOffered] = useState<{ key: string; values: OfferedValue[] }>();
  const key = ask ? `${ask.input} ${ask.typed}` : '';

  useEffect(() => {
    if (!ask) return;
    const abort = new AbortController();
    void suggestValues(ask.input, ask.typed, abort.signal).then((values) => {
      if (!abort.signal.aborted) setOffered({ key, values });
    });
    return () => abort.abort();
  }, [key]);

  if (!ask || offered?.key !== key) return [];
  return offered.values
    .filter(({ value }) => value !== ask.typed)
    .map(({ label, value }) => ({ line: ask.lineWith(value), label, detail: '' }));
}

function DropForm(props: {
  onFiles: (files: FileList) => void;
  onDrop: () => void;
  onSubmit: () => void;
  children: ComponentChildren;
}) {
  const { onFiles, onDrop, onSubmit, children } = props;
  const [isOver, setIsOver] = useState(false);

  function onDrag(event: DragEvent) {
    if (!event.dataTransfer?.types.includes('Files')) return;
    // Otherwise the browser would leave the page and open the file.
    event.preventDefault();
    setIsOver(event.type !== 'dragleave');
  }

  return (
    <form
      class={isOver ? 'composer over' : 'composer'}
      onSubmit={submitting(onSubmit)}
      onDragEnter={onDrag}
      onDragOver={onDrag}
      onDragLeave={onDrag}
      onDrop={(event) => {
        setIsOver(false);
        if (takeFiles(event, event.dataTransfer?.files, onFiles)) onDrop();
      }}
    >
      {children}
    </form>
  );
}

/** Takes pasted or dropped files; returns false if there are none. */
function takeFiles(
  event: Event,
  files: FileList | undefined,
  onFiles: (files: FileList) => void,
): boolean {
  if (!files || files.length === 0) return false;
  event.preventDefault();
  onFiles(files);
  return true;
}

function AttachButton(props: { onFiles: (files: FileList) => void; onChosen: () => void }) {
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        class="attach square"
        aria-label="Attach files"
        title="Attach images, text files or PDFs"
        onClick={() => chooser.current?.click()}
      >
        <AttachIcon />
      </button>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ currentTarget }) => {
          if (currentTarget.files) props.onFiles(currentTarget.files);
          // Without this, choosing the same file again would be no change.
          currentTarget.value = '';
          props.onChosen();
        }}
      />
    </>
  );
}
