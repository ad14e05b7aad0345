/** The most that `n` can request. */
const MOST_CHOICES = 128;

/** Finish reasons of an answer that broke off. Source: API references of Mistral, OpenRouter and DeepSeek. */
const BROKE_OFF = new Set(['error', 'insufficient_system_resource']);

/** Follows which choices of a stream have ended. Our choice: a body without `[DONE]` is whole if each choice that began has ended. */
export function createChoiceEnds() {
  const ended = new Map<unknown, boolean>();
  return {
    /** A reason ends the choice. */
    note(index: unknown, reason: unknown): void {
      const ends = typeof reason === 'string' && reason !== '' && !BROKE_OFF.has(reason);
      // A later chunk, such as the usage, doesn't reopen a choice.
      if (ends || (!ended.has(index) && ended.size <= MOST_CHOICES)) ended.set(index, ends);
    },
    all: () => ended.size > 0 && ended.size <= MOST_CHOICES && [...ended.values()].every(Boolean),
  };
}
