/** Parts that are joined at once: a part may be a byte, and its Buffer takes two hundred. */
const TOGETHER = 1024;

/** Collects the bytes of a body that comes in parts, in little more memory than they have. */
export class BufferList {
  /** Bytes so far. */
  length = 0;
  private readonly joined: Buffer[] = [];
  private parts: Buffer[] = [];

  add(part: Buffer): void {
    this.length += part.length;
    this.parts.push(part);
    if (this.parts.length < TOGETHER) return;
    this.joined.push(Buffer.concat(this.parts));
    this.parts = [];
  }

  /** All bytes so far, in about the parts they came in. */
  list(): Buffer[] {
    return [...this.joined, ...this.parts];
  }

  /** All bytes so far as one. */
  join(): Buffer {
    const [only] = this.parts;
    return this.length === only?.length ? only : Buffer.concat(this.list());
  }
}
