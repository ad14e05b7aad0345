/** The kind of a file by its first bytes. Names and media types from outside don't count. */
export type FileKind =
  | { kind: 'picture'; mediaType: PictureType }
  | { kind: 'pdf' }
  | { kind: 'text' }
  /** `what` follows “it is”. */
  | { kind: 'other'; what: string };

/** Images that models accept. Sources: OpenAI and Anthropic, vision guides. */
export type PictureType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

/** Bytes that are enough to recognise a file. */
export const HEAD_BYTES = 4_096;

const ascii = (text: string) => [...text].map((character) => character.charCodeAt(0));

const PICTURES: ReadonlyArray<{ mediaType: PictureType; magic: number[]; at8?: number[] }> = [
  { mediaType: 'image/png', magic: [0x89, ...ascii('PNG\r\n'), 0x1a, 0x0a] },
  { mediaType: 'image/jpeg', magic: [0xff, 0xd8, 0xff] },
  { mediaType: 'image/gif', magic: ascii('GIF87a') },
  { mediaType: 'image/gif', magic: ascii('GIF89a') },
  { mediaType: 'image/webp', magic: ascii('RIFF'), at8: ascii('WEBP') },
];

const OTHERS: ReadonlyArray<{ what: string; magic: number[]; at?: number }> = [
  { what: 'a HEIC photo', magic: ascii('ftyphei'), at: 4 },
  { what: 'a HEIC photo', magic: ascii('ftypmif1'), at: 4 },
  { what: 'an AVIF image', magic: ascii('ftypavif'), at: 4 },
  { what: 'a video', magic: ascii('ftyp'), at: 4 },
  { what: 'a video', magic: [0x1a, 0x45, 0xdf, 0xa3] },
  { what: 'a TIFF image', magic: [...ascii('II*'), 0] },
  { what: 'a TIFF image', magic: [...ascii('MM'), 0, 0x2a] },
  { what: 'a BMP image', magic: ascii('BM') },
  { what: 'an archive or an Office document', magic: [...ascii('PK'), 3, 4] },
  { what: 'an Office document', magic: [0xd0, 0xcf, 0x11, 0xe0] },
  { what: 'an archive', magic: [0x1f, 0x8b] },
  { what: 'an archive', magic: [...ascii('7z'), 0xbc, 0xaf] },
  { what: 'an audio file', magic: ascii('ID3') },
  { what: 'an audio file', magic: ascii('OggS') },
  { what: 'a program', magic: [0x7f, ...ascii('ELF')] },
];

/** Invalid characters that a text may have, per thousand. */
const MAX_WRONG = 10;

/** `head` are the first `HEAD_BYTES` of the file, or all of it. Pure. */
export function kindOf(head: Uint8Array): FileKind {
  const has = (magic: readonly number[], at = 0) =>
    magic.every((byte, index) => head[at + index] === byte);
  const picture = PICTURES.find(({ magic, at8 = [] }) => has(magic) && has(at8, 8));
  if (picture) return { kind: 'picture', mediaType: picture.mediaType };
  if (has(ascii('%PDF-'))) return { kind: 'pdf' };
  // Before the others, because a text may begin with the two letters of another kind.
  if (isText(head)) return { kind: 'text' };
  const other = OTHERS.find(({ magic, at }) => has(magic, at));
  return { kind: 'other', what: other?.what ?? 'not an image, text file or PDF' };
}

/** The encoding by the byte order mark; UTF-8 without one. */
export function encodingOf(head: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : 'utf-8';
}

function isText(head: Uint8Array): boolean {
  // Decoding as a stream accepts an incomplete character at the end.
  const text = new TextDecoder(encodingOf(head)).decode(head, { stream: true });
  let wrong = 0;
  for (const character of text) {
    if (character === '\0') return false;
    if (character === '\ufffd' || isOddControl(character)) wrong += 1;
  }
  return wrong * 1_000 <= text.length * MAX_WRONG;
}

/** Control characters apart from white space and the escape sequences that colour logs. */
function isOddControl(character: string): boolean {
  const code = character.charCodeAt(0);
  return code < 0x20 && !(code >= 0x07 && code <= 0x0d) && code !== ESCAPE;
}

const ESCAPE = 0x1b;
