import type { RefObject } from 'preact';
import {
  useContext,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'preact/hooks';
import { keepDraft, keepWhileSent, keptDraft } from '../../shared/draft.ts';
import { Problem, submitting } from '../../shared/form.tsx';
import { AttachIcon, SendIcon } from '../../shared/icons.tsx';
import { sentenceOf } from '../../shared/requests.ts';
import { Reader } from '../reader-context.ts';
import { AttachedFiles, useAttachedFiles } from './attached-files.tsx';
import { CommandHint, SuggestionList } from './command-help.tsx';
import type { Completion, Suggested, Suggestion } from './completion.ts';
import { complete } from './completion.ts';

/** What others may do to the line. */
export interface ComposerControl {
  /** Puts a line into it, ready to be sent. */
  fill(line: string): void;
  focus(): void;
  /** Says why something else that was done here did not work; an empty text takes that back. */
  complain(problem: string): void;
}

/**
 * The line to type in, with suggestions above it. Enter sends, Shift+Enter begins a new line. Files are pasted, dropped or chosen.
 */
export function Composer(props: {
  control: RefObject<ComposerControl | null>;
  label: string;
  channel: string;
  /** The name under which an unsent line is kept. */
  draft: string;
  placeholder: string;
  onSay: (text: string, files: string[]) => Promise<void>;
}) {
  const { control, label, channel, draft, placeholder, onSay } = props;
  const { commands } = useContext(Reader);
  const input = useRef<HTMLTextAreaElement>(null);
  const placeCaret = useRef(false);
  const [line, setLine] = useState(() => keptDraft(draft));
  const [caretAtEnd, setCaretAtEnd] = useState(true);
  const [active, setActive] = useState<number>();
  /** The line for which Escape has sent the suggestions away. */
  const [quietFor, setQuietFor] = useState<string>();
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState('');
  const attached = useAttachedFiles(channel, setProblem);
  const chooser = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  const listId = useId();

  const completion = complete(line, commands);
  const offered = useOffered(completion.ask);
  const all = [...completion.suggestions, ...offered.filter((one) => one.line !== line)];
  const suggestions = caretAtEnd && quietFor !== line ? all : [];
  const first = completion.eager && suggestions.length > 0 ? 0 : undefined;
  const chosen = active !== undefined && active < suggestions.length ? active : first;

  function change(next: string) {
    setLine(next);
    setActive(undefined);
  }

  function fill(next: string) {
    placeCaret.current = true;
    change(next);
    setCaretAtEnd(true);
    setProblem('');
    input.current?.focus();
  }
  const focus = () => input.current?.focus();
  useImperativeHandle(control, () => ({ fill, focus, complain: setProblem }), []);

  // As high as its text, up to the limit in the style.
  useLayoutEffect(() => {
    const area = input.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [line]);
  useLayoutEffect(() => keepDraft(draft, line), [draft, line]);
  // A line that was not typed leaves the caret at its end.
  useLayoutEffect(() => {
    const area = input.current;
    if (placeCaret.current && area) area.setSelectionRange(area.value.length, area.value.length);
    placeCaret.current = false;
  }, [line]);

  const isEmpty = line.trim() === '' && attached.ids.length === 0;
  const canSend = !isEmpty && !sending && !attached.isSending;

  /** Takes the files of what is pasted or dropped; false when there are none. */
  function takeFiles(event: Event, files: FileList | undefined) {
    if (!files || files.length === 0) return false;
    event.preventDefault();
    attached.add(files);
    return true;
  }

  function onDrag(event: DragEvent) {
    if (!event.dataTransfer?.types.includes('Files')) return;
    // Without this the browser would leave the page for the file.
    event.preventDefault();
    setIsOver(event.type !== 'dragleave');
  }

  function onDrop(event: DragEvent) {
    setIsOver(false);
    if (takeFiles(event, event.dataTransfer?.files)) input.current?.focus();
  }

  async function send() {
    const text = line.trim();
    const { ids } = attached;
    if (!canSend) return;
    const putBack = attached.take();
    const settle = keepWhileSent(draft, text);
    setSending(true);
    setProblem('');
    change('');
    try {
      await onSay(text, ids);
      settle(true);
    } catch (error) {
      settle(false);
      setProblem(sentenceOf(error));
      // Nothing typed is lost, unless something new is being typed already.
      setLine((now) => (now === '' ? text : now));
      putBack();
    }
    setSending(false);
  }

  function onKeyDown(event: KeyboardEvent) {
    // The Enter that ends the composing of a character is not ours.
    if (event.isComposing) return;
    const { length } = suggestions;
    if (length > 0 && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      const from = chosen ?? (step === 1 ? -1 : 0);
      setActive((from + step + length) % length);
      return;
    }
    if (length > 0 && event.key === 'Escape') {
      event.preventDefault();
      setQuietFor(line);
      return;
    }
    const taken = suggestions[chosen ?? (event.key === 'Tab' ? 0 : -1)];
    if (taken && !event.shiftKey && (event.key === 'Tab' || event.key === 'Enter')) {
      event.preventDefault();
      fill(taken.line);
      return;
    }
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      void send();
    }
  }

  return (
    <form
      class={isOver ? 'composer over' : 'composer'}
      onSubmit={submitting(() => void send())}
      onDragEnter={onDrag}
      onDragOver={onDrag}
      onDragLeave={onDrag}
      onDrop={onDrop}
    >
      {suggestions.length > 0 && (
        <SuggestionList
          id={listId}
          suggestions={suggestions}
          chosen={chosen}
          onTake={(suggestion) => fill(suggestion.line)}
        />
      )}
      {suggestions.length === 0 && completion.hint && <CommandHint hint={completion.hint} />}
      <Problem text={problem} />
      <AttachedFiles files={attached.files} onRemove={attached.remove} />
      <div class="line framed">
        <button
          type="button"
          class="slash square"
          aria-label="Commands"
          title="Commands"
          onClick={() => fill(line === '' ? '/' : line)}
        >
          /
        </button>
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
          class="chooser"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={({ currentTarget: chosen }) => {
            attached.add(chosen.files ?? []);
            // The same file may be chosen again.
            chosen.value = '';
            input.current?.focus();
          }}
        />
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
          onInput={({ currentTarget: area }) => {
            change(area.value);
            setCaretAtEnd(area.selectionEnd === area.value.length);
          }}
          onSelect={({ currentTarget: area }) =>
            setCaretAtEnd(area.selectionEnd === area.value.length)
          }
          onKeyDown={onKeyDown}
          onPaste={(event) => takeFiles(event, event.clipboardData?.files)}
        />
        <button type="submit" class="send square filled" aria-label="Send" disabled={!canSend}>
          <SendIcon />
        </button>
      </div>
    </form>
  );
}

/** What the server offers for the input that is being typed; nothing until it has answered for just these letters. */
function useOffered(ask: Completion['ask']): Suggestion[] {
  const { suggest } = useContext(Reader);
  const [offered, setOffered] = useState<{ key: string; list: Suggested[] }>();
  const key = ask ? `${ask.input} ${ask.typed}` : '';

  useEffect(() => {
    if (!ask) return;
    const typedOn = new AbortController();
    void suggest(ask.input, ask.typed, typedOn.signal).then((list) => {
      if (!typedOn.signal.aborted) setOffered({ key, list });
    });
    return () => typedOn.abort();
  }, [key]);

  if (!ask || offered?.key !== key) return [];
  return offered.list
    .filter(({ value }) => value !== ask.typed)
    .map(({ label, value }) => ({ line: ask.lineWith(value), label, detail: '' }));
}
