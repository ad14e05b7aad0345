/** The beginning of a text that takes no more bytes than this, without half of a character. Pure. */
export function withinBytes(text: string, max: number): string {
  // No character takes less than a byte.
  const bytes = Buffer.from(text.length > max ? text.slice(0, max + 1) : text);
  if (bytes.length <= max) return bytes.toString();
  let end = Math.max(0, max);
  // A byte that goes on with a character begins with the bits 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
