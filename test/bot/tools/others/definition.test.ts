import { expect, test } from 'vitest';
import {
  type Definition,
  differences,
  fingerprint,
  functionName,
} from '../../../../src/bot/tool-servers/definition.ts';

const LOOK: Definition = {
  description: 'Looks.',
  inputSchema: {
    type: 'object',
    properties: { at: { type: 'string', enum: ['a', 'b'] }, by: { type: 'number' } },
  },
  isReadOnly: true,
  isDestructive: false,
};

test('a definition has one fingerprint, in whatever order its fields stand', () => {
  const { type, properties } = LOOK.inputSchema as Record<string, Record<string, unknown>>;
  const turned = { properties: { by: properties?.by, at: properties?.at }, type };
  expect(fingerprint({ ...LOOK, inputSchema: turned })).toBe(fingerprint(LOOK));
  expect(fingerprint(LOOK)).toMatch(/^[\w-]{22}$/);
});

test.each<[string, Partial<Definition>]>([
  ['a description', { description: 'Looks. ' }],
  ['what it does', { isReadOnly: false }],
  ['whether it removes', { isDestructive: true }],
  ['an input', { inputSchema: { ...LOOK.inputSchema, required: ['at'] } }],
  [
    'the order of a list',
    { inputSchema: { type: 'object', properties: { at: { type: 'string', enum: ['b', 'a'] } } } },
  ],
  ['fields that look like lists', { inputSchema: { type: [['a', 1]] } }],
])('another one has another fingerprint: %s', (_, change) => {
  const other = { ...LOOK, ...change };
  expect(fingerprint(other)).not.toBe(fingerprint(LOOK));
  expect(differences(LOOK, other)).toHaveLength(1);
});

test('an object and a list of its fields are not the same', () => {
  const object = { ...LOOK, inputSchema: { a: { b: 1 } } };
  const list = { ...LOOK, inputSchema: { a: [['b', 1]] } };
  expect(fingerprint(object)).not.toBe(fingerprint(list));
});

test('a difference in a long schema is shown with a little around it', () => {
  const long = (word: string) => ({
    ...LOOK,
    inputSchema: { a: 'x'.repeat(5_000), m: word, z: 'y'.repeat(5_000) },
  });
  const [difference] = differences(long('before'), long('after'));
  expect(difference?.what).toBe('Its input');
  expect(difference?.before).toMatch(/^…[\s\S]*"m": "before"[\s\S]*…$/);
  expect(difference?.after).toMatch(/^…[\s\S]*"m": "after"[\s\S]*…$/);
  expect(difference?.after.length).toBeLessThan(200);
  expect(differences(LOOK, LOOK)).toEqual([]);
});

test('each tool has a name of its own that providers take', () => {
  expect(functionName('github', 'search-issues')).toBe('github__search-issues');
  const made = ['a.b', 'a/b', 'a_b', 'x'.repeat(64), `${'x'.repeat(64)}y`, 'ä'].map((tool) =>
    functionName('github', tool),
  );
  expect(new Set(made).size).toBe(made.length);
  expect(made.filter((name) => !/^github__[\w-]{1,56}$/.test(name))).toEqual([]);
});
