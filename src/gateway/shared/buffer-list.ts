/** Parts that are joined at once, because a part may be one byte whose Buffer takes two hundred. */
const TOGETHER = 1024;

/** Collects the bytes of a body in little more memory than they need. */
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

  /** Returns all bytes so far. */
  join(): Buffer {
    const [only] = this.parts;
    return this.length === only?.length ? only : Buffer.concat([...this.joined, ...this.parts]);
  }
}
