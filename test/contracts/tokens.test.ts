import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { encode as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import {
  estimateJsonTokens,
  estimatePromptTokens,
  estimateRequestTokens,
  roughTokens,
} from '../../src/contracts/tokens.ts';

const FOLDER = fileURLToPath(new URL('../fixtures/texts/', import.meta.url));

interface Measure {
  kind: string;
  text: string;
  characters: number;
  /** By a real tokenizer. */
  tokens: number;
  olderTokens: number;
  estimate: number;
  /** Relative error of the estimate. */
  error: number;
}

/** Measures one half of the texts. The real tokenizers see these texts only, which are short and harmless. */
function measure(half: 'tuned' | 'held-out'): Measure[] {
  return ['languages', 'code']
    .flatMap((folder) =>
      readdirSync(`${FOLDER}${half}/${folder}`).map((name) => ({ folder, name })),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ folder, name }) => {
      const text = readFileSync(`${FOLDER}${half}/${folder}/${name}`, 'utf8');
      const tokens = o200k(text).length;
      const estimate = roughTokens(text);
      return {
        kind: name.replace('.txt', ''),
        text,
        characters: [...text].length,
        tokens,
        olderTokens: cl100k(text).length,
        estimate: Math.round(estimate),
        error: estimate / tokens - 1,
      };
    });
}

const tuned = measure('tuned');
const heldOut = measure('held-out');

const percent = (part: number) => `${part < 0 ? '−' : '+'}${Math.abs(part * 100).toFixed(1)} %`;
const mean = (numbers: number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
const meanSize = (half: Measure[]) => mean(half.map(({ error }) => Math.abs(error)));

describe('the estimate beside a real tokenizer', () => {
  test('is measured on texts of many kinds, half of them or more held out', () => {
    expect(heldOut.length).toBeGreaterThanOrEqual(30);
    expect(heldOut.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(tuned.map(({ kind }) => kind)),
    );
    for (const { kind, characters } of [...tuned, ...heldOut]) {
      expect(characters, kind).toBeGreaterThanOrEqual(300);
      expect(characters, kind).toBeLessThanOrEqual(3000);
    }
  });

  test.each(heldOut)('is near for $kind, on which it was not tuned', ({ error }) => {
    expect(Math.abs(error)).toBeLessThan(0.15);
  });

  test('is near on average, and rather too high than too low', () => {
    expect(meanSize(heldOut)).toBeLessThan(0.06);
    expect(meanSize(tuned)).toBeLessThan(0.04);
    expect(mean([...tuned, ...heldOut].map(({ error }) => error))).toBeGreaterThan(0);
  });

  test('is the one that the README beside the texts shows', () => {
    const file = `${FOLDER}README.md`;
    if (process.env.ASKWATCH_WRITE_TOKEN_TABLE === '1') writeFileSync(file, readme());
    expect(readFileSync(file, 'utf8')).toBe(readme());
  });
});

function readme(): string {
  const rows = heldOut.map(({ kind, tokens, estimate, error, olderTokens }) => {
    const before = tuned.find((one) => one.kind === kind);
    return `| ${kind} | ${before ? percent(before.error) : 'none'} | ${tokens} | ${estimate} | ${percent(error)} | ${olderTokens} |`;
  });
  return `# How near the token estimate is

The gateway and the bot estimate tokens in one pass over the bytes (\`src/contracts/tokens.ts\`). Here the estimate stands
beside a real tokenizer, o200k_base as \`gpt-tokenizer\` implements it, on real text of ${heldOut.length} kinds. The weights were fitted to the
texts in \`tuned/\` only; the texts in \`held-out/\` were not fitted to, and some kinds have no tuned text at all.

Mean size of the error: ${(meanSize(heldOut) * 100).toFixed(1)} % over the held-out texts, ${(meanSize(tuned) * 100).toFixed(1)} % over the tuned ones.

Other tokenizers count otherwise. The last column is the older cl100k_base: it agrees for English and code, and needs up to
three and a half times as many tokens for some other scripts.

| kind | error, tuned text | tokens, held-out text | estimate | error | cl100k_base |
| --- | ---: | ---: | ---: | ---: | ---: |
${rows.join('\n')}

The test \`test/contracts/tokens.test.ts\` holds these numbers; with \`ASKWATCH_WRITE_TOKEN_TABLE=1\` it writes this file.
`;
}

describe('the estimate of any text', () => {
  const anyBytes = fc.uint8Array({ maxLength: 400 });

  test('is never negative and never above four tokens for a byte', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const tokens = roughTokens(bytes);
        expect(tokens).toBeGreaterThanOrEqual(0);
        expect(tokens).toBeLessThanOrEqual(4 * bytes.length);
      }),
    );
    expect(roughTokens('')).toBe(0);
  });
});

describe('a prompt', () => {
  const user = (content: string) => ({ role: 'user' as const, content });
  const tokens = Math.ceil(roughTokens('Why is the sky blue?'));

  test('costs its texts, a little for each message, and a fixed sum for each picture', () => {
    expect(estimatePromptTokens([])).toBe(0);
    expect(estimatePromptTokens([user('Why is the sky blue?')])).toBe(4 + tokens);
    const parts = [
      { type: 'text' as const, text: 'Why is the sky blue?' },
      { type: 'image_url' as const, image_url: { url: `data:${'x'.repeat(10_000)}` } },
    ];
    expect(estimatePromptTokens([{ role: 'user', content: parts }, user('')])).toBe(
      4 + tokens + 800 + 4,
    );
  });

  test('may have turns without content, whose calls of tools count', () => {
    const tool_calls = [{ id: 'c1', function: { name: 'now', arguments: '{"in":"Lisbon"}' } }];
    const calls = estimateJsonTokens(tool_calls);
    expect(calls).toBeGreaterThan(10);
    expect(
      estimatePromptTokens([
        { role: 'assistant', content: null, tool_calls },
        { role: 'assistant', tool_calls: null },
      ]),
    ).toBe(4 + calls + 4);
  });
});

describe('JSON', () => {
  test('costs its texts, the names of its fields, and a token for each value', () => {
    const texts = roughTokens('a') + roughTokens('b') + roughTokens('x');
    expect(estimateJsonTokens({ a: [1, true, null], b: 'x' })).toBe(Math.ceil(6 + texts));
    expect(estimateJsonTokens(undefined)).toBe(1);
  });

  test('is counted at any depth and width', () => {
    let deep: unknown = 'x';
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    expect(estimateJsonTokens(deep)).toBe(Math.ceil(100_001 + roughTokens('x')));
    expect(estimateJsonTokens(Array(300_000).fill(0))).toBe(300_001);
  });
});

test.each([
  [
    'tools',
    [{ type: 'function', function: { name: 'find', description: 'Finds it. '.repeat(80) } }],
  ],
  ['functions', [{ name: 'find', description: 'Finds it. '.repeat(80) }]],
  ['response_format', { type: 'json_schema', json_schema: { about: 'Finds it. '.repeat(80) } }],
])('The %s of a request count as part of its prompt, unless they are null', (name, value) => {
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const bare = estimateRequestTokens({ messages });
  expect(estimateRequestTokens({ messages, [name]: value })).toBeGreaterThan(bare + 150);
  expect(estimateRequestTokens({ messages, [name]: null })).toBe(bare);
});

test.each([
  ['words', 'Why did the checkout fail at noon? '.repeat(6_000)],
  ['marks', 'It said "no" to C:\\srv\\shop\n\tat line 12\n'.repeat(5_000)],
  ['letters beyond ASCII', 'Überprüfung der Größe, 東京 and 🎉! '.repeat(4_000)],
  ['two kinds of text', 'the pool is full. '.repeat(3_000) + 'a1=b2 '.repeat(20_000)],
  ['a text just short enough to be counted whole', 'x y '.repeat(2_048)],
])('The estimate for a long text with %s is near the count of all of it', (_name, content) => {
  const estimate = estimatePromptTokens([{ role: 'user', content }]);
  expect(Math.abs(estimate / roughTokens(content) - 1)).toBeLessThan(0.06);
});
