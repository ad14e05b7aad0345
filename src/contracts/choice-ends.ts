/** The most that `n` can request. */
const MOST_CHOICES = 128;

/** Finish reasons of an answer that broke off. Source: API references of Mistral, OpenRouter and DeepSeek. */
const BROKE_OFF = new Set(['error', 'insufficient_system_resource']);

/**
 * Follows which choices of a streamed answer have begun and ended, for bodies that end properly but without `[DONE]`.
 * Our choice: such a stream is whole if each choice that began has its `finish_reason`, as it is for servers that leave
 * `[DONE]` out.
 */
export function createChoiceEnds() {
  const ended = new Map<unknown, boolean>();
  return {
    /** Notes a chunk of this choice; a reason means that the choice has ended. */
    note(index: unknown, reason: unknown): void {
      const ends = typeof reason === 'string' && reason !== '' && !BROKE_OFF.has(reason);
      // A later chunk, such as the usage, doesn't reopen a choice.
      if (ends || (!ended.has(index) && ended.size <= MOST_CHOICES)) ended.set(index, ends);
    },
    /** At least one choice has begun, and every one that has begun has ended. */
    all: () => ended.size > 0 && ended.size <= MOST_CHOICES && [...ended.values()].every(Boolean),
  };
}
