/** The fields of something that came from outside; none when it has none. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** A text with something in it. */
export const textOf = (value: unknown) =>
  typeof value === 'string' && value !== '' ? value : undefined;
