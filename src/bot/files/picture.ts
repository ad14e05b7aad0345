import { FileError } from '../shared/shared-file.ts';
import type { PictureType } from './file-kind.ts';

/** The longest side that models take. Source: Anthropic, "Vision", image size. */
const MAX_SIDE = 8_000;

const BROKEN = 'the image is damaged or incomplete. Send it again.';

/** Size by the file's own header; `isWhole` is false if its end is missing. */
interface PictureHeader {
  width: number;
  height: number;
  isWhole: boolean;
}

/** Throws a `FileError` for an image that is damaged or larger than models accept. Decodes nothing. Pure. */
export function checkPicture(bytes: Uint8Array, mediaType: PictureType): void {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = headerOf(view, mediaType);
  if (!header?.isWhole || header.width === 0 || header.height === 0) throw new FileError(BROKEN);
  const { width, height } = header;
  if (Math.max(width, height) > MAX_SIDE) {
    const size = [width, height].map((side) => side.toLocaleString('en')).join(' × ');
    throw new FileError(
      `it has ${size} pixels, and models accept up to ${MAX_SIDE.toLocaleString('en')} per side. Make it smaller, or crop it.`,
    );
  }
}

function headerOf(bytes: Buffer, mediaType: PictureType): PictureHeader | undefined {
  try {
    if (mediaType === 'image/png') return pngHeader(bytes);
    if (mediaType === 'image/jpeg') return jpegHeader(bytes);
    return mediaType === 'image/gif' ? gifHeader(bytes) : webpHeader(bytes);
  } catch (error) {
    // The file ends within a number.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Name of the last chunk of a PNG. */
const IEND = 0x49_45_4e_44;

/** Source: W3C, "Portable Network Graphics", 5.3 and 11.2.2. */
function pngHeader(bytes: Buffer): PictureHeader | undefined {
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  const size = { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at);
    if (end <= bytes.length && bytes.readUInt32BE(at + 4) === IEND) {
      return { ...size, isWhole: true };
    }
    at = end;
  }
  return { ...size, isWhole: false };
}

/** Source: ISO 10918-1, B.1.1.2 and B.2.2. */
function jpegHeader(bytes: Buffer): PictureHeader | undefined {
  for (let at = 2; ; ) {
    if (bytes.readUInt8(at) !== 0xff) return undefined;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) {
      return {
        height: bytes.readUInt16BE(at + 5),
        width: bytes.readUInt16BE(at + 7),
        isWhole: bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > at,
      };
    }
    // The image data begins without a size before it.
    if (marker === 0xda || marker === 0xd9) return undefined;
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
}

/** Source: CompuServe, "Graphics Interchange Format 89a", 18 and 27. */
function gifHeader(bytes: Buffer): PictureHeader {
  const size = { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  // The trailer; some writers add a few bytes.
  return { ...size, isWhole: bytes.length > 13 && bytes.lastIndexOf(0x3b) > bytes.length - 64 };
}

/** Source: RFC 9649, "WebP Container Specification". */
function webpHeader(bytes: Buffer): PictureHeader | undefined {
  const isWhole = 8 + bytes.readUInt32LE(4) <= bytes.length;
  const chunk = bytes.toString('latin1', 12, 16);
  if (chunk === 'VP8X') {
    return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3), isWhole };
  }
  if (chunk === 'VP8L') {
    const bits = bytes.readUInt32LE(21);
    return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff), isWhole };
  }
  if (chunk !== 'VP8 ') return undefined;
  const side = (at: number) => bytes.readUInt16LE(at) & 0x3fff;
  return { width: side(26), height: side(28), isWhole };
}
