import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fieldsOf, typedFieldsOf, usageOf } from '../../../src/bot/commands/command.ts';
import { checkInput, readLine } from '../../../src/bot/commands/command-input.ts';
import { commands } from '../../../src/bot/features.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { long } from '../../helpers/long.ts';

/** The line as `name {values}`, or the problem. */
function read(line: string) {
  const result = readLine(line, commands);
  if (result.kind === 'command') return { [result.command.name]: result.values };
  return result.kind === 'problem' ? result.problem : result.kind;
}

const shop = { target: 'https://example.com' };

test.each<[line: string, values: Record<string, string>]>([
  ['/monitor add https://example.com', shop],
  ['monitor add https://example.com', shop],
  ['  /Monitor   ADD\thttps://example.com  ', shop],
  ['/monitor add https://example.com My shop', { ...shop, name: 'My shop' }],
  ['/monitor add https://example.com name="My shop"', { ...shop, name: 'My shop' }],
  ['/monitor add name=“My shop” https://example.com', { ...shop, name: 'My shop' }],
  ["/monitor add https://example.com name='it's mine'", { ...shop, name: "it's mine" }],
  ["/monitor add https://example.com Bob's shop", { ...shop, name: "Bob's shop" }],
  ['/monitor add https://example.com "a=b"', { ...shop, name: 'a=b' }],
  ['/monitor add https://example.com name="say \\"hi\\" \\\\"', { ...shop, name: 'say "hi" \\' }],
  ['/monitor add https://example.com name="open', { ...shop, name: '"open' }],
  ['/monitor add https://example.com NAME=Shop', { ...shop, name: 'Shop' }],
  ['/monitor add target=https://example.com', shop],
  ['/monitor add https://example.com/?a=b&c=d', { target: 'https://example.com/?a=b&c=d' }],
  ['/monitor add example.com/?a=b', { target: 'example.com/?a=b' }],
  ['/monitor add <https://example.com>', shop],
  ['/monitor add <https://example.com|example.com> Shop', { ...shop, name: 'Shop' }],
  ['/monitor add <http://example.com|example.com>', { target: 'example.com' }],
  ['/monitor add "<http://example.com/|example.com>"', { target: 'example.com' }],
  [
    '/monitor add https://example.com name="Shop" keyword=Cart interval=30',
    { ...shop, name: 'Shop', keyword: 'Cart', interval: '30' },
  ],
])('words and quoted values are read: %s', (line, values) => {
  expect(read(line)).toEqual({ 'monitor add': values });
});

test.each<[line: string, values: Record<string, string>]>([
  ['/ask why is the sky blue?', { question: 'why is the sky blue?' }],
  ['/ask', {}],
  ['/ask what is a=b?', { question: 'what is a=b?' }],
  ['/ask a=b is what?', { question: 'a=b is what?' }],
  ['/ask what does "x  y" mean?', { question: 'what does "x  y" mean?' }],
  ['/ask "why?"', { question: 'why?' }],
  ['/ask "why" and "how"', { question: '"why" and "how"' }],
  ['/ask two\nlines', { question: 'two\nlines' }],
  ['/ask see <https://a.example|this>', { question: 'see https://a.example' }],
  [
    '/ask model=vision-16k private=true what is this?',
    { model: 'vision-16k', private: 'true', question: 'what is this?' },
  ],
  ['/ask what model=x is', { question: 'what model=x is' }],
  ['/ask question="model=x is what"', { question: 'model=x is what' }],
])('a question takes the whole line: %s', (line, values) => {
  expect(read(line)).toEqual({ ask: values });
});

test('words fill required inputs first, then the filter', () => {
  expect(read('/monitor alerts on My shop')).toEqual({
    'monitor alerts': { switch: 'on', filter: 'My shop' },
  });
});

test.each([
  ['', {}],
  ['off', { switch: 'off' }],
  ['ON Daily', { switch: 'ON', every: 'Daily' }],
  ['on weekly Europe/Berlin 08:30', { switch: 'on', every: 'weekly', zone: 'Europe/Berlin 08:30' }],
  ['weekly', { every: 'weekly' }],
  ['on every=weekly UTC', { switch: 'on', every: 'weekly', zone: 'UTC' }],
  ['weekly on', { every: 'weekly', zone: 'on' }],
])('words that are choices fill optional inputs first: /monitor report %s', (words, values) => {
  expect(read(`/monitor report ${words}`)).toEqual({ 'monitor report': values });
});

test.each([
  ['/monitor add https://example.com intervall=30', '“intervall”'],
  ['/monitor add https://example.com name=a name=b', '“name” is set twice.'],
  ['/monitor add https://example.com name=Shop more words', '“more words”'],
  ['/askwatch models me', '“me”'],
  ['/ask model=a model=b why?', '“model” is set twice.'],
  ['/ask question=a why?', '“question” is set'],
  [`/monitor add ${'x'.repeat(4001)}`, 'too long'],
])('an unclear line is refused: %s', (line, problem) => {
  expect(read(line)).toContain(problem);
});

test.each(['/monitor frobnicate x', '/monitor addition', '/nothing', ''])(
  'a line that names no command is unknown: %j',
  (line) => {
    expect(read(line)).toBe('unknown');
  },
);

test.each([
  ['/monitor change My shop interval=5m', { monitor: 'My shop', interval: '5m' }],
  ['/monitor change name="Shop EU" My shop', { monitor: 'My shop', name: 'Shop EU' }],
  ['/monitor change "My shop" json=""', { monitor: 'My shop', json: '' }],
  ['/monitor change json= monitor=Shop', { monitor: 'Shop', json: '' }],
])('words without a key are the monitor to change: %s', (line, values) => {
  expect(read(line)).toEqual({ 'monitor change': values });
});

test('reading a line never throws', () => {
  const names = commands.map(({ name }) => `/${name}`);
  const piece = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom(...names, ' ', '"', '“', '”', "'", '\\', '=', '<https://', '|', '>', 'name='),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      readLine(pieces.join(''), commands);
      readLine(`/monitor add ${pieces.join('')}`, commands);
      readLine(`/ask ${pieces.join('')}`, commands);
    }),
    { numRuns: long ? 20_000 : 100 },
  );
});

test('quoted values are kept, for every command', () => {
  const quote = (text: string) => `"${text.replace(/[\\"“”]/g, '\\$&')}"`;
  const links = /<https?:/;
  const example = fc.constantFrom(...commands).chain((command) => {
    const names = typedFieldsOf(command).map(({ name }) => name);
    const value = fc
      .string({ unit: 'grapheme', maxLength: 40 })
      .filter((text) => !links.test(text));
    const values = fc
      .subarray(names)
      .chain((some) => fc.record(Object.fromEntries(some.map((name) => [name, value]))));
    return fc.record({ command: fc.constant(command), values });
  });
  fc.assert(
    fc.property(example, ({ command, values }) => {
      const words = Object.entries(values).map(([name, value]) => `${name}=${quote(value)}`);
      expect(read(`/${command.name} ${words.join(' ')}`)).toEqual({ [command.name]: values });
    }),
    { numRuns: long ? 20_000 : 100 },
  );
});

// Worse than linear time would exceed the limit of a test.
test('a line of hostile length is refused or read in bounded time', () => {
  for (const piece of ['"a ', '<https://', '<https://x|', 'model="a ', '\\"', '“']) {
    readLine(`/ask ${piece.repeat(100_000 / piece.length)}`, commands);
    readLine(`/monitor add ${piece.repeat(4000 / piece.length)}`, commands);
    expect(read(`/ask ${piece.repeat(1_000_000 / piece.length)}`)).toContain('too long');
  }
});

const add = commands.find(({ name }) => name === 'monitor add') ?? expect.fail();
const ask = commands.find(({ name }) => name === 'ask') ?? expect.fail();

test('texts are converted to the types of inputs', () => {
  const values = { target: ' x ', type: 'http', interval: '30s', name: '' };
  expect(checkInput(add, values)).toEqual({
    ok: true,
    input: { target: 'x', type: 'HTTP', interval: 30_000 },
  });
  for (const [text, value] of [
    ['yes', true],
    ['TRUE', true],
    ['off', false],
  ] as const) {
    expect(checkInput(ask, { question: 'q', private: text })).toMatchObject({
      input: { private: value },
    });
  }
});

test('typed values are kept, and null is absent', () => {
  expect(checkInput(add, { target: 'x', days: 30, name: null })).toEqual({
    ok: true,
    input: { target: 'x', days: 30 },
  });
});

test.each([
  [{}, '“target” is missing: An address'],
  [
    { target: 'x', interval: 'soon' },
    "“interval”: I didn't understand “soon”. Use 30s, 5m, 2h or 1d.",
  ],
  [{ target: 'x', interval: '1' }, '“interval”: “1” is 1 second. Choose 5 seconds to 366 days.'],
  [{ target: 'x', days: '1e9' }, '“days” must be a whole number from 0 to 365, not “1e9”'],
  [
    { target: 'x', type: 'PING' },
    '“type” must be one of HTTP, KEYWORD, DNS, TCP, CERTIFICATE, HEARTBEAT, not “PING”.',
  ],
  [{ target: 'x', name: 'n'.repeat(201) }, '“name” is too long: at most 200 characters.'],
])('%j is refused: %s', (values, sentence) => {
  const checked = checkInput(add, values);
  expect(checked).toMatchObject({ ok: false });
  expect(JSON.stringify(checked)).toContain(sentence);
});

test('every command has a summary that fits everywhere, described inputs, and examples that work', () => {
  for (const command of commands) {
    expect(command.summary.length, command.name).toBeLessThanOrEqual(100);
    for (const field of fieldsOf(command)) {
      expect(field.description, `${command.name} ${field.name}`).toMatch(/^.{1,100}$/);
    }
    const { examples = [] } = command;
    expect(examples, command.name).not.toEqual([]);
    for (const example of examples) {
      const line = readLine(example, commands);
      expect(line).toMatchObject({ kind: 'command', command: { name: command.name } });
      if (line.kind === 'command') expect(checkInput(command, line.values).ok).toBe(true);
    }
  }
  expect(commands.map(usageOf)).toContain(
    '/monitor alerts <on|off> [filter] [quiet] [zone] [remind] [mention] [tags] [via] [fallback]',
  );
});
