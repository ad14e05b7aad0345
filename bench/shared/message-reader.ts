/** Callbacks for each message. The bytes are reused; copy them to keep them. */
export interface MessageListener {
  /** Start line and headers, without the empty line. */
  head(text: string): void;
  body(bytes: Buffer): void;
  end(): void;
}

const HEAD_END = '\r\n\r\n';

/**
 * Reads one HTTP/1.1 message after another from a connection, as little of it as a bench needs: bodies with
 * `content-length`, chunked ones, and none. Throws when the bytes are no such message.
 * Source: RFC 9112, sections 6 and 7.1.
 */
export function createMessageReader(listener: MessageListener): (bytes: Buffer) => void {
  let state: 'head' | 'body' | 'size' | 'chunk' | 'trailer' = 'head';
  /** Bytes of an unfinished head or line. */
  let begun: Buffer | undefined;
  /** Remaining bytes of the body or chunk. */
  let left = 0;

  /** The text up to `mark`, or undefined when it has not all come yet; `rest` is what follows. */
  function textUpTo(mark: string, bytes: Buffer): { text: string; rest: Buffer } | undefined {
    const all = begun ? Buffer.concat([begun, bytes]) : bytes;
    const end = all.indexOf(mark);
    if (end === -1) {
      begun = Buffer.from(all);
      return undefined;
    }
    begun = undefined;
    return { text: all.toString('latin1', 0, end), rest: all.subarray(end + mark.length) };
  }

  function end() {
    state = 'head';
    listener.end();
  }

  function readHead(bytes: Buffer): Buffer | undefined {
    const found = textUpTo(HEAD_END, bytes);
    if (!found) return undefined;
    listener.head(found.text);
    const length = /\r\ncontent-length: *(\d+)/i.exec(found.text)?.[1];
    if (length !== undefined && length !== '0') {
      state = 'body';
      left = Number(length);
    } else if (/\r\ntransfer-encoding: *chunked/i.test(found.text)) state = 'size';
    else end();
    return found.rest;
  }

  function readSize(bytes: Buffer): Buffer | undefined {
    const found = textUpTo('\r\n', bytes);
    if (!found) return undefined;
    const size = Number.parseInt(found.text, 16);
    if (!(size >= 0)) throw new Error(`'${found.text}' is no chunk size`);
    state = size === 0 ? 'trailer' : 'chunk';
    // The line break after a chunk is counted with it.
    left = size + 2;
    return found.rest;
  }

  function readTrailer(bytes: Buffer): Buffer | undefined {
    const found = textUpTo('\r\n', bytes);
    if (found?.text === '') end();
    return found?.rest;
  }

  function readBody(bytes: Buffer): Buffer {
    const extra = state === 'chunk' ? 2 : 0;
    const taken = Math.min(left, bytes.length);
    const content = Math.min(taken, Math.max(0, left - extra));
    if (content > 0) listener.body(bytes.subarray(0, content));
    left -= taken;
    if (left === 0 && state === 'chunk') state = 'size';
    else if (left === 0) end();
    return bytes.subarray(taken);
  }

  const readers = {
    head: readHead,
    size: readSize,
    trailer: readTrailer,
    body: readBody,
    chunk: readBody,
  };
  return (bytes) => {
    let rest: Buffer | undefined = bytes;
    while (rest && rest.length > 0) rest = readers[state](rest);
  };
}
