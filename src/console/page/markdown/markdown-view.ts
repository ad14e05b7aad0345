import type {
  ColourJob,
  ColourResult,
  MarkdownJob,
  MarkdownPiece,
  MarkdownResult,
} from './blocks.ts';
import { endOfBox, plainPieces } from './plain-text.ts';
import { type CodeToColour, elementOf } from './show-pieces.tsx';
import { createPageWorker } from './worker.ts';

/** Characters of one answer that are formatted; the rest is plain text. The console stores no longer answers. */
export const MAX_FORMATTED_CHARACTERS = 64_000;

/** Blocks of one answer; each costs a browser something, even out of sight. */
const MAX_BLOCKS = 2_000;

/** In a longer answer, the browser only lays out what is in sight. */
const LONG_CHARACTERS = 4_000;

/** After each drawing of a growing answer, the page rests this many times as long. */
const REST_FOR_EACH_DRAWING = 3;

/** Limits of one batch of new blocks: time to create them, and their elements, because laying those out takes the browser longer. */
const BATCH_MS = 8;
const BATCH_ELEMENTS = 500;

const formatMarkdown = createPageWorker<MarkdownJob, MarkdownResult>('markdown-worker', 5_000);
const colour = createPageWorker<ColourJob, ColourResult>('colour-worker', 2_000);

const PLAIN_NOTES = {
  long: 'This answer is too long to format in full. Its end is shown as plain text.',
  intricate: 'Parts of this answer are too complex to format and are shown as plain text.',
  late: 'This answer took too long to format and is shown as plain text.',
  broken: "This answer is shown as plain text because a script didn't load. Reload the page.",
};

interface Version {
  text: string;
  growing: boolean;
}

/** A block on the page. It stays as long as its key is the same, so that a selection in it survives. */
interface ShownBlock {
  key: string;
  create(): Node;
}

/**
 * Draws an answer into an element while it grows, in batches, so that the page never freezes. `show` sets the newest version; one
 * loop draws it and rests, until the drawn version is the newest. Only the text after the settled blocks is formatted again.
 */
export class MarkdownView {
  private readonly element: HTMLElement;
  private readonly onNote: (note: string | undefined) => void;
  private newest: Version = { text: '', growing: true };
  private drawn: Version = { text: '', growing: true };
  /** Blocks that more text can't change, and the end of their text. */
  private settled: { blocks: ShownBlock[]; end: number } = { blocks: [], end: 0 };
  private keys: string[] = [];
  private failure: 'late' | 'broken' | undefined;
  private caret: Element | null = null;
  private isClosed = false;
  private isDrawing = false;
  private endRest = () => {};
  private readonly uncoloured = new Map<string, CodeToColour[]>();

  /** `onNote` is called with the reason why some of the answer is plain text. */
  constructor(element: HTMLElement, onNote: (note: string | undefined) => void) {
    this.element = element;
    this.onNote = onNote;
  }

  show(text: string, growing: boolean): void {
    this.newest = { text, growing };
    if (!growing) this.endRest();
    if (this.isDrawing) return;
    this.isDrawing = true;
    void this.drawUntilNewest().finally(() => {
      this.isDrawing = false;
    });
  }

  close(): void {
    this.isClosed = true;
    this.endRest();
  }

  private async drawUntilNewest() {
    const isNewest = () =>
      this.newest.text === this.drawn.text && this.newest.growing === this.drawn.growing;
    while (!this.isClosed && !isNewest()) {
      const startedAtMs = performance.now();
      const version = this.newest;
      await this.draw(version);
      this.drawn = version;
      const drawingMs = performance.now() - startedAtMs;
      if (version.growing && this.newest.growing) await this.rest(drawingMs);
    }
  }

  /** Ends early once the answer is whole. */
  private rest(drawingMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, drawingMs * REST_FOR_EACH_DRAWING);
      this.endRest = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private async draw({ text, growing }: Version) {
    if (!text.startsWith(this.drawn.text)) {
      this.settled = { blocks: [], end: 0 };
      this.keys = [];
    }
    // An attribute, because Preact sets the classes.
    this.element.toggleAttribute('data-long', text.length > LONG_CHARACTERS);
    const { blocks: settledBlocks, end: start } = growing ? this.settled : { blocks: [], end: 0 };
    const room = MAX_BLOCKS - settledBlocks.length;
    const formattedText = text.slice(start, endOfBox(text, 0, MAX_FORMATTED_CHARACTERS));
    const outcome = this.failure
      ? { kind: this.failure }
      : await formatMarkdown({ text: formattedText, whole: !growing, room });
    if (outcome.kind !== 'done') return await this.drawPlain(text, outcome.kind);

    const { blocks: newBlocks, settled, end, intricate } = outcome.result;
    const blocks = [...settledBlocks, ...newBlocks.map((json) => this.shownBlock(json))];
    const formattedEnd = start + end;
    if (growing) {
      const settledCount = settledBlocks.length + settled.blocks;
      this.settled = { blocks: blocks.slice(0, settledCount), end: start + settled.at };
    }
    await this.replaceBlocks([...blocks, ...this.plainBlocks(text.slice(formattedEnd))]);
    const note = formattedEnd < text.length ? 'long' : intricate ? 'intricate' : undefined;
    this.onNote(note && PLAIN_NOTES[note]);
    void this.colourCode(growing ? this.settled.blocks : undefined);
  }

  private async drawPlain(text: string, failure: 'late' | 'broken') {
    this.failure = failure;
    this.onNote(PLAIN_NOTES[failure]);
    const { blocks, end } = this.settled;
    await this.replaceBlocks([...blocks, ...this.plainBlocks(text.slice(end))]);
  }

  private shownBlock(json: string): ShownBlock {
    return {
      key: json,
      create: () =>
        elementOf(JSON.parse(json) as MarkdownPiece, (code) =>
          this.uncoloured.set(json, [...(this.uncoloured.get(json) ?? []), code]),
        ),
    };
  }

  private plainBlocks(text: string): ShownBlock[] {
    return plainPieces(text).map((piece) => this.shownBlock(JSON.stringify(piece)));
  }

  private async replaceBlocks(blocks: readonly ShownBlock[]) {
    const { element } = this;
    let batchEndMs = performance.now() + BATCH_MS;
    let batchElements = 0;
    const count = Math.max(blocks.length, element.childNodes.length);
    for (let at = 0; at < count && !this.isClosed; at += 1) {
      if (performance.now() > batchEndMs || batchElements >= BATCH_ELEMENTS) {
        await nextFrame();
        batchElements = 0;
        batchEndMs = performance.now() + BATCH_MS;
      }
      const block = blocks[at];
      if (block && block.key === this.keys[at]) continue;
      const node = element.childNodes[Math.min(at, blocks.length)];
      if (!block) {
        node?.remove();
        continue;
      }
      const created = block.create();
      batchElements += elementsIn(created);
      if (node) node.replaceWith(created);
      else element.append(created);
    }
    this.keys = blocks.map(({ key }) => key);
    this.moveCaret();
    const current = new Set(this.keys);
    for (const key of this.uncoloured.keys()) if (!current.has(key)) this.uncoloured.delete(key);
  }

  /** Marks the last block of a growing answer. */
  private moveCaret() {
    const next = this.newest.growing ? this.element.lastElementChild : null;
    if (next === this.caret) return;
    this.caret?.classList.remove('caret');
    if (this.caret?.classList.length === 0) this.caret.removeAttribute('class');
    next?.classList.add('caret');
    this.caret = next;
  }

  private async colourCode(blocks: readonly ShownBlock[] | undefined) {
    const keys = blocks && new Set(blocks.map(({ key }) => key));
    for (const [key, codes] of this.uncoloured) {
      if (keys && !keys.has(key)) continue;
      this.uncoloured.delete(key);
      for (const { element, language, text } of codes) {
        if (this.isClosed || !element.isConnected) continue;
        const outcome = await colour({ language, code: text });
        if (outcome.kind !== 'done' || outcome.result === undefined) continue;
        const pieces = JSON.parse(outcome.result) as MarkdownPiece[];
        if (!this.isClosed) element.replaceChildren(...pieces.map((piece) => elementOf(piece)));
      }
    }
  }
}

const elementsIn = (node: Node) =>
  node instanceof Element ? 1 + node.getElementsByTagName('*').length : 0;

/** Waits until the browser has drawn; the timeout is for a tab in the background, which draws nothing. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 100);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      setTimeout(resolve);
    });
  });
}
