import fc from 'fast-check';

/** Code points below the surrogates; those after them follow at once. */
const BELOW_SURROGATES = 0xd800;
const SURROGATES = 0x800;

/**
 * Any code point but half a pair: what fast-check draws for `unit: 'binary'`, in the same order. Its own keeps a table of all
 * of them, a second of work and a hundred megabytes in each process of tests.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10ffff - SURROGATES })
  .map(
    (index) => String.fromCodePoint(index < BELOW_SURROGATES ? index : index + SURROGATES),
    indexOf,
  );

/** Lets fast-check also draw and shrink fixed texts and names such as `__proto__`. */
function indexOf(character: unknown): number {
  const code = typeof character === 'string' ? character.codePointAt(0) : undefined;
  if (code === undefined || character !== String.fromCodePoint(code)) {
    throw new Error('not one code point');
  }
  if (code >= BELOW_SURROGATES && code < BELOW_SURROGATES + SURROGATES) {
    throw new Error('half a pair');
  }
  return code < BELOW_SURROGATES ? code : code - SURROGATES;
}
