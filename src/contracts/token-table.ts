import { COST, SCRIPT, type Script } from './token-costs.ts';
import { type Sign, signOf } from './token-signs.ts';

/** Bits of an entry that hold a cost, and the mask that leaves only them. */
export const COST_BITS = 12;
export const COST_MASK = (1 << COST_BITS) - 1;

/**
 * What a byte of UTF-8 costs after what came before it. For state + byte: in the lowest bits the cost, in thousandths of a
 * token, and above them the next state. States are multiples of 256; a text begins in state 0.
 * Made when it is first needed: it takes about 15 ms of CPU, which a start can do without.
 */
export function tokenTable(): Int32Array {
  table ??= compile();
  return table;
}

let table: Int32Array | undefined;

/** What came before, as far as it matters. */
interface State {
  after: 'nothing' | 'space' | 'newline' | 'digit' | 'mark' | 'word' | Script;
  /** How many of them, up to where more make no difference. */
  run: number;
  /** Of the last letter of a word. */
  capital: boolean;
  /** What it costs when the word ends here. */
  ending: number;
  /** At the end of the word so far. */
  consonants: number;
  /** A first byte of several, when the second one tells more. */
  lead: number;
}

type Step = readonly [tokens: number, next: State];

function stateAfter(after: State['after'], run = 1, lead = 0): State {
  return { after, run, capital: false, ending: 0, consonants: 0, lead };
}

function step(state: State, sign: Sign): Step {
  if (sign.is === 'inside') return [secondByte(state.lead, sign.from), { ...state, lead: 0 }];
  if (sign.is === 'letter') return letterStep(state, sign);
  const ending = state.after === 'word' && state.run >= 3 ? state.ending : 0;
  const [tokens, next] = sign.is === 'script' ? scriptStep(state, sign) : asciiStep(state, sign.is);
  return [ending + tokens, next];
}

/** What the second byte of a character adds to the first. */
function secondByte(lead: number, from: number): number {
  if (lead === 0xd1) return from === 0x90 ? COST.cyrillicNotRussian : 0;
  if (lead === 0xe0) return from === 0xb8 ? COST.thai : 0;
  // Vietnamese stands at the end; before it Georgian, Khmer and others.
  if (lead === 0xe1) return from < 0xb8 ? COST.otherLetter : 0;
  return 0;
}

function asciiStep({ after, run }: State, sign: 'space' | 'newline' | 'digit' | 'mark'): Step {
  const again = after === sign;
  switch (sign) {
    case 'space':
      if (!again) return [0, stateAfter(sign)];
      return [run === 1 ? COST.secondSpace : COST.moreSpaces, stateAfter(sign, 2)];
    case 'newline':
      if (again) return [COST.moreNewlines, stateAfter(sign)];
      return [after === 'mark' ? 0 : COST.newline, stateAfter(sign)];
    case 'digit':
      if (again && run < 3) return [0, stateAfter(sign, run + 1)];
      return [COST.digits + (after === 'space' ? COST.digitsAfterSpace : 0), stateAfter(sign)];
    case 'mark':
      if (again) return [run === 1 ? COST.secondMark : COST.moreMarks, stateAfter(sign, 2)];
      if (after === 'word') return [COST.markAfterWord, stateAfter(sign)];
      return [after === 'space' ? COST.markAfterSpace : COST.mark, stateAfter(sign)];
  }
}

function scriptStep(state: State, { script, tokens, lead }: Sign & { is: 'script' }): Step {
  const [first, next] = SCRIPT[script];
  return [tokens + (state.after === script ? next : first), stateAfter(script, 1, lead)];
}

function letterStep(state: State, letter: Sign & { is: 'letter' }): Step {
  const { capital = false, consonant = false, ending = 0, lead } = letter;
  const inWord = state.after === 'word';
  const hump = inWord && capital && !state.capital;
  const run = inWord && !hump ? Math.min(state.run + 1, 5) : 1;
  const consonants = consonant ? Math.min((inWord ? state.consonants : 0) + 1, 3) : 0;
  let tokens = letter.tokens + (consonants === 3 ? COST.thirdConsonant : 0);
  if (!inWord) tokens += beginningOfWord(state.after);
  else if (hump) tokens += COST.hump;
  else if (capital) tokens += COST.capital;
  else if (run === 5) tokens += COST.longWord;
  return [tokens, { after: 'word', run, capital, ending, consonants, lead }];
}

function beginningOfWord(after: State['after']): number {
  if (after === 'mark') return COST.wordAfterMark;
  return after === 'digit' ? COST.wordAfterDigit : COST.word;
}

function compile(): Int32Array {
  const signs = new Map<string, Sign>();
  const signNames = Array.from({ length: 256 }, (_, byte) => {
    const sign = signOf(byte);
    const name = JSON.stringify(sign);
    signs.set(name, sign);
    return name;
  });
  const states = [stateAfter('nothing')];
  const numbers = new Map(states.map((state, number) => [JSON.stringify(state), number]));
  const rows: number[][] = [];
  // Grows while it is walked through, by the states that are met.
  for (const state of states) {
    const entries = new Map<string, number>();
    for (const [signName, sign] of signs) {
      const [tokens, next] = step(state, sign);
      const name = JSON.stringify(next);
      const number = numbers.get(name) ?? states.push(next) - 1;
      numbers.set(name, number);
      entries.set(signName, ((number * 256) << COST_BITS) | Math.round(tokens * 1000));
    }
    rows.push(signNames.map((name) => entries.get(name) ?? 0));
  }
  return Int32Array.from(rows.flat());
}
