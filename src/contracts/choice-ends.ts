/** More than `n` can ask for. */
const MOST_CHOICES = 128;

/** What providers say of an answer that broke off. Source: API references of Mistral, OpenRouter and DeepSeek. */
const BROKE_OFF = new Set(['error', 'insufficient_system_resource']);

/**
 * Follows which choices of a streamed answer have begun and ended, which tells whether a stream is whole whose body has ended as it should, but without `[DONE]`.
 * Our choice: it is, when each choice that began has its `finish_reason`. Servers that leave out `[DONE]` say it that way.
 */
export function createChoiceEnds() {
  const ended = new Map<unknown, boolean>();
  return {
    /** A chunk tells something of this choice; a reason says that it has ended. */
    note(index: unknown, reason: unknown): void {
      const ends = typeof reason === 'string' && reason !== '' && !BROKE_OFF.has(reason);
      // What follows an end, such as the usage, does not take it back.
      if (ends || (!ended.has(index) && ended.size <= MOST_CHOICES)) ended.set(index, ends);
    },
    /** At least one has begun, and each one that has begun has ended. */
    all: () => ended.size > 0 && ended.size <= MOST_CHOICES && [...ended.values()].every(Boolean),
  };
}
