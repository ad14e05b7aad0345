import type { ColourJob, ColourResult, MarkdownJob, MarkdownResult, Piece } from './blocks.ts';
import { endOfBox, plainPieces } from './plain-text.ts';
import { blockOf, type Code, elementOf } from './show-pieces.tsx';
import { createPageWorker } from './worker.ts';

/** Characters of one answer that are set; the console keeps no longer ones, and what follows is shown as plain text. */
export const MAX_SET_CHARACTERS = 64_000;

/** Blocks of one answer; each costs a browser something also while it is out of sight. */
const MAX_BLOCKS = 2_000;

/** From here on only what is seen is laid out. */
const LONG_CHARACTERS = 4_000;

/** An answer drawn while it grows takes this share of the time at most. */
const REST_FOR_EACH_DRAWING = 3;

/** The page goes on after so long, and the rest is drawn after that. */
const SLICE_MS = 8;

/** Blocks made before the browser has drawn: styling new ones takes it longer than making them. */
const SLICE_BLOCKS = 150;

const setMarkdown = createPageWorker<MarkdownJob, MarkdownResult>('markdown-worker', 5_000);
const colour = createPageWorker<ColourJob, ColourResult>('colour-worker', 2_000);

/** Why some of an answer is plain text. */
const WHY_PLAIN = {
  long: 'This answer is too long to format in full. Its end is shown as plain text.',
  intricate: 'Parts of this answer are too complex to format and are shown as plain text.',
  late: 'This answer took too long to format and is shown as plain text.',
  broken: "This answer is shown as plain text because a script didn't load. Reload the page.",
};

/** Where an answer is shown, drawn again as it grows. */
export type MarkdownView = ReturnType<typeof createMarkdownView>;

/** A block as it is shown: as long as its key is the same, it stays, so that a selection in it survives. */
interface Shown {
  key: string;
  make(): Node;
}

/** Draws answers into `element`, in batches, so that the page never waits; `onNote` is called with why some of it is plain text. */
export function createMarkdownView(
  element: HTMLElement,
  onNote: (note: string | undefined) => void,
) {
  let newest = { text: '', growing: true };
  let drawn = { text: '', growing: true };
  /** What stays as it is whatever follows. */
  let settled: { blocks: Shown[]; at: number } = { blocks: [], at: 0 };
  let keys: string[] = [];
  let failed: 'late' | 'broken' | undefined;
  let caret: Element | null = null;
  let closed = false;
  let drawing = false;
  let wake = () => {};
  const uncoloured = new Map<string, Code[]>();

  async function drawAll() {
    while (!closed && (newest.text !== drawn.text || newest.growing !== drawn.growing)) {
      const startedAtMs = performance.now();
      drawn = await draw(newest);
      if (drawn.growing && newest.growing)
        await rest((performance.now() - startedAtMs) * REST_FOR_EACH_DRAWING);
    }
  }

  /** Ends sooner when the answer is whole. */
  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function draw(now: typeof newest) {
    const { text, growing } = now;
    if (!text.startsWith(drawn.text)) {
      settled = { blocks: [], at: 0 };
      keys = [];
    }
    // No class: those of the element are set again when the answer is whole.
    element.toggleAttribute('data-long', text.length > LONG_CHARACTERS);
    const from = growing ? settled.at : 0;
    const before = growing ? settled.blocks : [];
    const most = endOfBox(text, 0, MAX_SET_CHARACTERS);
    const room = MAX_BLOCKS - before.length;
    const outcome = failed
      ? { kind: failed }
      : await setMarkdown({ text: text.slice(from, most), whole: !growing, room });
    if (outcome.kind !== 'done') {
      failed = outcome.kind;
      onNote(WHY_PLAIN[failed]);
      await patch([...settled.blocks, ...plain(text.slice(settled.at))]);
      return now;
    }
    const { result } = outcome;
    const end = from + result.end;
    const blocks = [...before, ...result.blocks.map(asShown)];
    if (growing) {
      const count = before.length + result.settled.blocks;
      settled = { blocks: blocks.slice(0, count), at: from + result.settled.at };
    }
    await patch([...blocks, ...plain(text.slice(end))]);
    onNote(end < text.length ? WHY_PLAIN.long : result.intricate ? WHY_PLAIN.intricate : undefined);
    // What may still change is not worth it yet.
    void colourAll(growing ? new Set(settled.blocks.map(({ key }) => key)) : undefined);
    return now;
  }

  function asShown(json: string): Shown {
    return {
      key: json,
      make: () =>
        blockOf(JSON.parse(json) as Piece, (code) =>
          uncoloured.set(json, [...(uncoloured.get(json) ?? []), code]),
        ),
    };
  }

  const plain = (text: string) => plainPieces(text).map((piece) => asShown(JSON.stringify(piece)));

  /** Touches only the blocks that differ. */
  async function patch(blocks: readonly Shown[]) {
    let sliceEndMs = performance.now() + SLICE_MS;
    let made = 0;
    const count = Math.max(blocks.length, element.childNodes.length);
    for (let at = 0; at < count && !closed; at += 1) {
      if (performance.now() > sliceEndMs || made >= SLICE_BLOCKS) {
        await nextFrame();
        made = 0;
        sliceEndMs = performance.now() + SLICE_MS;
      }
      const block = blocks[at];
      if (!block || block.key !== keys[at]) made += 1;
      const shown = element.childNodes[Math.min(at, blocks.length)];
      if (!block) shown?.remove();
      else if (block.key === keys[at]) continue;
      else if (shown) shown.replaceWith(block.make());
      else element.append(block.make());
    }
    keys = blocks.map(({ key }) => key);
    moveCaret();
    const current = new Set(keys);
    for (const key of uncoloured.keys()) if (!current.has(key)) uncoloured.delete(key);
  }

  /** To the last block, or away when nothing follows. */
  function moveCaret() {
    const next = newest.growing ? element.lastElementChild : null;
    if (next === caret) return;
    caret?.classList.remove('caret');
    if (caret?.classList.length === 0) caret.removeAttribute('class');
    next?.classList.add('caret');
    caret = next;
  }

  /** Colours the code of these blocks, or of all. */
  async function colourAll(only: Set<string> | undefined) {
    for (const [key, codes] of uncoloured) {
      if (only && !only.has(key)) continue;
      uncoloured.delete(key);
      for (const { element, language, text } of codes) {
        if (closed || !element.isConnected) continue;
        const outcome = await colour({ language, code: text });
        if (outcome.kind !== 'done' || outcome.result === undefined) continue;
        const pieces = JSON.parse(outcome.result) as Piece[];
        if (!closed) element.replaceChildren(...pieces.map((piece) => elementOf(piece)));
      }
    }
  }

  return {
    show(text: string, growing: boolean) {
      newest = { text, growing };
      if (!growing) wake();
      if (drawing) return;
      drawing = true;
      void drawAll().finally(() => {
        drawing = false;
      });
    },
    close() {
      closed = true;
      wake();
    },
  };
}

/** After the browser has drawn; a tab in the background draws nothing. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 100);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      setTimeout(resolve);
    });
  });
}
