/** Returns the beginning of a text that fits into `max` bytes, without half a character. Pure. */
export function withinBytes(text: string, max: number): string {
  // Every character takes at least one byte.
  const bytes = Buffer.from(text.length > max ? text.slice(0, max + 1) : text);
  if (bytes.length <= max) return bytes.toString();
  let end = Math.max(0, max);
  // Bytes inside a character begin with the bits 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
