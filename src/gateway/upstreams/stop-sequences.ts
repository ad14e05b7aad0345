import type { ChatCompletion, ChatCompletionChunk } from '../../contracts/gateway.ts';

/**
 * Passes a text on piece by piece, up to the first complete stop sequence. Linear in the length of any text.
 */
export function createStopCutter(sequences: readonly string[]) {
  const matchers = sequences.map(createMatcher);
  let held = '';
  let stopped = false;
  return {
    /** A sequence was complete; nothing more is passed on. */
    get stopped() {
      return stopped;
    },
    /** Adds text; returns the part to pass on now. An end that could begin a sequence is held back. */
    push(text: string): string {
      if (stopped) return '';
      const all = held + text;
      for (let at = held.length; at < all.length; at++) {
        const found = matchers.filter((matcher) => matcher.next(all.charCodeAt(at)));
        if (found.length === 0) continue;
        stopped = true;
        held = '';
        return all.slice(0, at + 1 - Math.max(...found.map(({ length }) => length)));
      }
      const begun = Math.max(0, ...matchers.map((matcher) => matcher.begun));
      held = all.slice(all.length - begun);
      return all.slice(0, all.length - begun);
    },
    /** Returns the held text once the text has ended. */
    flush(): string {
      const rest = held;
      held = '';
      return rest;
    },
  };
}

/** Cuts a whole answer. The usage stays, because the tokens after the cut were generated anyway. */
export function cutCompletion(
  completion: ChatCompletion,
  sequences: readonly string[],
): ChatCompletion {
  return {
    ...completion,
    choices: completion.choices.map((choice) => {
      const cutter = createStopCutter(sequences);
      const content = cutter.push(choice.message.content ?? '');
      if (!cutter.stopped) return choice;
      return { ...choice, message: { ...choice.message, content }, finish_reason: 'stop' };
    }),
  };
}

/**
 * Cuts the answers of a stream: drops the rest of a choice after its cut, but reads the stream to its end for the usage.
 * Returns `undefined` for a chunk without a rest.
 */
export function createChunkCutter(
  sequences: readonly string[],
): (chunk: ChatCompletionChunk) => ChatCompletionChunk | undefined {
  const cutters = new Map<number, ReturnType<typeof createStopCutter>>();
  const cutterOf = (index: number) => {
    const cutter = cutters.get(index) ?? createStopCutter(sequences);
    cutters.set(index, cutter);
    return cutter;
  };
  return (chunk) => {
    const choices = chunk.choices.flatMap((choice) => {
      const cutter = cutterOf(choice.index);
      if (cutter.stopped) return [];
      const { content, ...others } = choice.delta;
      const ended = choice.finish_reason != null;
      let passed = cutter.push(content ?? '');
      if (cutter.stopped) {
        return [{ ...choice, delta: { ...others, content: passed }, finish_reason: 'stop' }];
      }
      if (ended) passed += cutter.flush();
      const spoken = passed !== '' || content === '' ? { content: passed } : {};
      const delta = { ...others, ...spoken };
      return ended || Object.keys(delta).length > 0 ? [{ ...choice, delta }] : [];
    });
    if (choices.length === 0 && chunk.choices.length > 0 && !chunk.usage) return undefined;
    return { ...chunk, choices };
  };
}

/** Follows a text for one sequence. Source: Knuth, Morris, Pratt, "Fast pattern matching in strings", 1977. */
function createMatcher(sequence: string) {
  const { length } = sequence;
  /** Matched length that remains if the next unit doesn't fit after each matched length. */
  const fallback = new Uint32Array(length + 1);
  for (let at = 1, begun = 0; at < length; at++) {
    while (begun > 0 && sequence.charCodeAt(at) !== sequence.charCodeAt(begun)) {
      begun = fallback[begun] ?? 0;
    }
    if (sequence.charCodeAt(at) === sequence.charCodeAt(begun)) begun += 1;
    fallback[at + 1] = begun;
  }
  let begun = 0;
  return {
    length,
    get begun() {
      return begun;
    },
    /** Adds one unit of the text; returns true if the sequence is complete. */
    next(unit: number): boolean {
      while (begun > 0 && (begun === length || unit !== sequence.charCodeAt(begun))) {
        begun = fallback[begun] ?? 0;
      }
      if (unit === sequence.charCodeAt(begun)) begun += 1;
      return begun === length;
    },
  };
}
