import { BufferList } from '../shared/buffer-list.ts';

const LINE_BREAK = 0x0a;
const EVENT_ENDS = [Buffer.from('\n\n'), Buffer.from('\n\r\n')];

/** Cuts the bytes of a stream behind empty lines, as they come. What it gives is UTF-8 as a string of bytes. */
export class SseSplitter {
  private unfinished = new BufferList();
  private seam: Buffer = Buffer.alloc(0);

  /** How much waits for its empty line. */
  get unfinishedBytes(): number {
    return this.unfinished.length;
  }

  /** All bytes so far up to the last empty line; keeps the rest. */
  take(bytes: Buffer): string {
    if (this.unfinished.length === 0 && endsEvent(bytes))
      return withLineFeeds(bytes.toString('latin1'));
    this.unfinished.add(bytes);
    // Looked for at the seam and behind it only: an event may come in a million pieces.
    const joint = Buffer.concat([this.seam, bytes]);
    this.seam = joint.subarray(-2);
    if (endOfLastEvent(joint) === 0) return '';
    const all = this.unfinished.join();
    const end = endOfLastEvent(all);
    const rest = all.subarray(end);
    this.unfinished = new BufferList();
    this.unfinished.add(rest);
    this.seam = rest.subarray(-2);
    return withLineFeeds(all.toString('latin1', 0, end));
  }

  /** What no empty line has followed yet. */
  rest(): string {
    return withLineFeeds(this.unfinished.join().toString('latin1'));
  }
}

function endsEvent(bytes: Buffer): boolean {
  const { length } = bytes;
  return length > 1 && bytes[length - 1] === LINE_BREAK && bytes[length - 2] === LINE_BREAK;
}

function withLineFeeds(text: string): string {
  return text.includes('\r') ? text.replaceAll('\r\n', '\n') : text;
}

/** Where the last whole event ends; 0 when there is none. */
function endOfLastEvent(bytes: Buffer): number {
  return Math.max(
    ...EVENT_ENDS.map((end) => {
      const at = bytes.lastIndexOf(end);
      return at === -1 ? 0 : at + end.length;
    }),
  );
}
