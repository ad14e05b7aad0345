import { unmaskSoFar, withoutMentions } from '../render/text.ts';

/**
 * How many visible characters after the first sign of a possible mention decide what it is: the longest way to write one,
 * `&#x3c;` and `!doctype` with what follows, takes 16.
 */
const DECIDED_BY = 24;

/** Every way to begin a mention begins with one of these. */
const BEGINS = /[<&@]/;

/** What decides nothing however much there is of it: what `withoutMentions` skips, the zeros of an entity, halves of pairs. */
const DECIDES_NOTHING = /[0\\\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}]|[^\P{Cc}\n\t]/u;

/**
 * A model's text so far, made harmless, without the end that may yet become part of a mention: whatever comes later, this
 * is how the whole text made harmless begins. For messages to which one can only add.
 */
export function settledText(text: string): string {
  const unmasked = unmaskSoFar(text);
  const whole = withoutMentions(unmasked);
  // What is a mention is decided from its first sign on, so the rest means the same without what stands before it.
  const rest = withoutMentions(unmasked.slice(undecidedFrom(unmasked)));
  return whole.slice(0, whole.length - rest.length);
}

function undecidedFrom(text: string): number {
  let from = /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
  let visible = 0;
  for (let at = text.length - 1; at >= 0 && visible < DECIDED_BY; at -= 1) {
    const character = text.charAt(at);
    if (BEGINS.test(character)) from = at;
    if (!DECIDES_NOTHING.test(character)) visible += 1;
  }
  return from;
}
