import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Usage } from '../../../src/contracts/gateway.ts';
import { createIdentify } from '../../../src/gateway/streaming/response-identity.ts';
import {
  createSsePassthrough,
  type SsePassthrough,
} from '../../../src/gateway/streaming/sse-passthrough.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { long } from '../../helpers/long.ts';

const runs = long ? 5_000 : 50;

const created = Math.floor(Date.now() / 1000);
const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created, model: 'theirs' };
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const DONE = 'data: [DONE]\n\n';
const ENDS = [
  DONE,
  'data: [DONE]\n',
  'data: [DONE]',
  'data:[DONE]\r\n',
  'event: x\r\ndata: [DONE]\r\n',
  'data: [DONE]\r\nid: 1\r\n',
];

const event = (fields: object) => `data: ${JSON.stringify({ ...head, ...fields })}\n\n`;
const says = (content: string, more: object = {}) =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more });

function start(wantsUsage = false, identify = createIdentify()) {
  const heard = { tokens: 0, usage: undefined as Usage | undefined };
  const options = {
    model: 'our "model" é',
    wantsUsage,
    onText: (tokens: number) => {
      heard.tokens += tokens;
    },
    onUsage: (told: Usage) => {
      heard.usage = told;
    },
    estimate: () => ({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }),
  };
  return { events: createSsePassthrough(options, identify), heard };
}

/** What is passed on of a text that comes cut at some places, as chunks. */
function pass(events: SsePassthrough, text: string | Buffer, cuts: number[] = []) {
  const bytes = Buffer.from(text);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  let passed = '';
  let from = 0;
  for (const end of ends) {
    passed += events.push(bytes.subarray(from, end));
    from = end;
  }
  passed += events.end();
  const out = Buffer.from(passed, 'latin1').toString();
  const chunks = out
    .split('\n\n')
    .slice(0, -1)
    .map((event) => JSON.parse(event.replace(/^data: /, '')));
  return { out, chunks };
}

describe('events of a streamed answer', () => {
  test('are passed on under the client’s name for the model and else as they are', () => {
    const { events, heard } = start();
    const odd = says('say "model":"x" é🌈', { system_fingerprint: null, extra: [1.0, 'é'] });
    const { out } = pass(events, odd + DONE);
    expect(out).toBe(odd.replace('"theirs"', '"our \\"model\\" é"'));
    expect(events.whole).toBe(true);
    expect(events.broken).toBeUndefined();
    expect(heard.tokens).toBeGreaterThan(1);
  });

  test('are the same wherever the network cuts them', () => {
    const kinds = fc.oneof(
      fc.string({ unit: anyCharacter }).map((content) => says(content)),
      fc.string({ unit: anyCharacter }).map((content) => says(content, { usage: null })),
      fc.string().map((content) => says(content).replaceAll('\n', '\r\n')),
      fc.string().map((content) => `event: x\n${says(content)}`),
      fc.string().map((content) => says(content).replace('data: {', 'data:{')),
      fc.string().map((content) => says(content).replace('"model":', '"model": ')),
      fc.constantFrom(': ping\n\n', event({ choices: [], usage }), '\n', '\r\n', '\n\n'),
      fc.string().map((content) => says(content, { nested: { model: 'deep' } })),
      fc.string().map((content) => event({ about: { model: 'deep' }, choices: [], content })),
    );
    fc.assert(
      fc.property(
        fc.array(kinds, { maxLength: 8 }),
        fc.constantFrom(...ENDS),
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.boolean(),
        (parts, end, cuts, wantsUsage) => {
          const text = parts.join('') + end;
          const uncut = start(wantsUsage);
          const cut = start(wantsUsage);
          const expected = pass(uncut.events, text);
          expect(pass(cut.events, text, cuts)).toEqual(expected);
          expect(cut.events.whole).toBe(true);
          expect(cut.heard).toEqual(uncut.heard);
          const given = parts.flatMap((part) => {
            const json = /data: ?([^\r\n]*)/.exec(part)?.[1];
            return json ? [JSON.parse(json)] : [];
          });
          const content = (chunks: typeof given) =>
            chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
          expect(content(expected.chunks)).toBe(content(given));
          for (const chunk of expected.chunks) {
            expect(chunk.model).toBe('our "model" é');
            if (!wantsUsage) {
              expect(chunk).not.toHaveProperty('usage');
              expect(chunk.choices).not.toEqual([]);
            }
          }
          const told = expected.chunks.filter((chunk) => chunk.usage);
          const asked = given.filter((chunk) => chunk.usage);
          if (wantsUsage && given.length > 0) expect(told).toHaveLength(Math.max(1, asked.length));
        },
      ),
      { numRuns: runs },
    );
  });

  test.each(['\n', '\r\n', '\n\n', '\n\r\n', '\n\n\n'])(
    'are the same with more empty lines between them, wherever those are cut: %j',
    (lines) => {
      const expected = pass(start(true).events, says('a') + says('b') + DONE);
      // Compared without a call of expect for each cut, which costs more than the events do.
      const unlike: Array<{ end: string; cut: number }> = [];
      for (const end of ENDS) {
        const text = `${lines}${says('a')}${lines}${says('b')}${lines}${end}`;
        for (let cut = 0; cut <= text.length; cut += 1) {
          const { events } = start(true);
          const same = pass(events, text, [cut]).out === expected.out;
          if (!same || !events.whole) unlike.push({ end, cut });
        }
      }
      expect(unlike).toEqual([]);
    },
  );

  test('lose the usage nobody asked for, and keep the one that was', () => {
    const text =
      says('a', { usage: null }) + says('b', { usage }) + event({ choices: [], usage }) + DONE;
    const without = start();
    expect(pass(without.events, text).chunks.map((chunk) => chunk.usage)).toEqual([
      undefined,
      undefined,
    ]);
    expect(without.heard.usage).toEqual(usage);
    const asked = start(true);
    expect(pass(asked.events, text).chunks.map((chunk) => chunk.usage)).toEqual([
      null,
      usage,
      usage,
    ]);
  });

  test('end with an estimate when the usage was asked for and the provider tells none', () => {
    const { events } = start(true);
    const { chunks } = pass(events, says('a') + DONE);
    expect(chunks.at(-1)).toMatchObject({
      id: head.id,
      model: 'our "model" é',
      choices: [],
      usage: { total_tokens: 2 },
    });
  });

  test('of chunks with less than the convention asks for are passed on, with the usage in the same form', () => {
    const { events } = start(true);
    const bare = { model: 'theirs', choices: [{ index: 0, delta: { content: 'a' } }] };
    const { chunks } = pass(events, `data: ${JSON.stringify(bare)}\n\n${DONE}`);
    const { id, created } = chunks[0];
    expect(id).toMatch(/^chatcmpl-[-0-9a-f]{36}$/);
    expect(chunks[0]).toEqual({ ...bare, id, created, model: 'our "model" é' });
    expect(chunks[1]).toMatchObject({ id, created, model: 'our "model" é', choices: [] });
    expect(chunks[1].usage.total_tokens).toBe(2);
    expect(events.whole).toBe(true);
  });

  test('are broken, and not whole, when what the usage would be put into cannot be read', () => {
    const { events } = start(true);
    events.push(Buffer.from(`data: {"model":"theirs","choices":[{]}\n\n${DONE}`));
    expect(events.whole).toBe(false);
    expect(events.broken?.message).toBe('is not JSON');
  });

  test.each(ENDS)('may end with %j', (end) => {
    const { events } = start();
    expect(pass(events, says('a') + end).chunks).toHaveLength(1);
    expect(events.whole).toBe(true);
  });

  const bare = (fields: object) =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'theirs', ...fields })}\n\n`;
  const text = { index: 0, delta: { content: 'say "id":"x","created":5' }, finish_reason: null };
  const tool = { id: 'call_1', index: 0, function: { name: 'f', arguments: '{"id":"a"}' } };
  const called = { index: 0, delta: { tool_calls: [tool] }, finish_reason: null };
  const known = { id: 'chatcmpl-7', created };
  test.each<[string, object[], boolean]>([
    ['nothing', [{}, {}, {}], false],
    [
      'nothing that is any',
      [
        { id: '', created: 0 },
        { id: null, created: null },
      ],
      false,
    ],
    ['something else', [{ id: 7, created: 'now' }, { id: ['a'], created: [1, 2] }, {}], false],
    ['another thing each time', [known, { id: 'b', created: created + 1 }, { id: 'c' }], true],
    [
      'a time that is none',
      [known, { ...known, created: 1.5e300 }, { ...known, created: -1 }],
      true,
    ],
    ['less in the end', [known, { created }, { id: known.id }, {}], true],
    ['more in the end', [{ id: '', created: 0 }, known, { id: known.id }], false],
    ['a constant', Array(3).fill({ id: 'always', created: 1_677_652_288 }), false],
  ])('have one id and one time, of ours where the provider tells %s', (_name, told, stays) => {
    const parts = [{ choices: [text] }, { choices: [called] }, { choices: [text], usage: null }];
    for (const place of ['first', 'last']) {
      const stream = told.flatMap((identity) =>
        parts.map((part) =>
          place === 'first' ? bare({ ...identity, ...part }) : bare({ ...part, ...identity }),
        ),
      );
      const identify = createIdentify();
      identify({ id: 'always' });
      const { chunks } = pass(start(false, identify).events, stream.join('') + DONE);
      expect(chunks).toHaveLength(stream.length);
      const [{ id, created: at }] = chunks;
      if (stays) expect({ id, created: at }).toEqual(known);
      else expect(id).toMatch(/^chatcmpl-[-0-9a-f]{36}$/);
      expect(Math.abs(at - created)).toBeLessThan(3_600);
      for (const [number, chunk] of chunks.entries()) {
        const { choices } = parts[number % parts.length] ?? {};
        const shared = { object: 'chat.completion.chunk', model: 'our "model" é' };
        expect(chunk).toEqual({ ...shared, id, created: at, choices });
      }
    }
  });

  test('of a constant id are passed on without being parsed', () => {
    const constant = { id: '', created: 0 };
    const odd = `{"choices":[{"index":0,"delta":{"content":"a"}}],"odd":1.0,"model":"theirs"}`;
    const sent = [bare({ ...constant, choices: [] }), `data: ${odd.replace('{', '{"id":"",')}\n\n`];
    const { out } = pass(start().events, sent.join('') + DONE);
    // Whoever parses and writes it anew makes it 1.
    expect(out).toContain('"odd":1.0');
  });

  const choice = (index: number, content: string, finish_reason: string | null = null) => ({
    index,
    delta: { content },
    finish_reason,
  });
  const chunk = (...choices: object[]) => event({ choices });
  const ended = chunk({ index: 0, delta: {}, finish_reason: 'stop' });
  /** As servers write it that sort the names. */
  const sorted = (delta: object, reason: string | null, index = 0) =>
    `data: {"choices":[{"finish_reason":${JSON.stringify(reason)},"index":${index},"delta":${JSON.stringify(delta)}}],"created":${created},"id":"chatcmpl-1","model":"theirs"}\n\n`;
  const withUsage = (text: string) =>
    text.replace('}\n\n', `,"usage":${JSON.stringify(usage)}}\n\n`);
  const withCall = (index: number) =>
    sorted({ tool_calls: [{ index, function: { arguments: '{}' } }] }, null);

  test.each([
    ['an event of its own', says('a') + ended, 2],
    ['the event of the last text', says('a') + chunk(choice(0, 'b', 'stop')), 2],
    ['events alike', chunk(choice(0, 'a', 'stop')) + chunk(choice(0, 'b', 'stop')), 2],
    ['an event before others of the same choice', ended + says('a'), 2],
    ['an event that no empty line follows', says('a') + ended.trimEnd(), 2],
    ['an event with half an empty line', says('a') + ended.slice(0, -1), 2],
    ['an event and a comment', `${says('a')}${ended}: bye`, 2],
    ['an event with the usage', says('a') + withUsage(ended), 2],
    ['an event before the usage', says('a') + ended + event({ choices: [], usage }), 2],
    ['an event in two lines', says('a') + ended.replace('"choices"', '\ndata: "choices"'), 2],
    ['an event after an empty reason', chunk(choice(0, 'a', '')) + ended, 2],
    ['two choices', chunk(choice(0, 'a'), choice(1, 'b', 'stop')) + ended, 2],
    ['two choices in turn', `${chunk(choice(1, 'a'))}${ended}${chunk(choice(1, '', 'stop'))}`, 3],
    ['sorted names', withCall(0) + withCall(1) + sorted({}, 'tool_calls'), 3],
  ])('are whole without [DONE] where the reason came in %s', (_name, text, count) => {
    for (const cuts of [[], [100, 101, 102, 300]]) {
      const { events } = start();
      const { chunks } = pass(events, text, cuts);
      expect(events.broken).toBeUndefined();
      expect(events.whole).toBe(true);
      expect(chunks).toHaveLength(count);
      const asked = pass(start(true).events, text, cuts).chunks;
      expect(asked.filter((one) => one.usage)).toHaveLength(1);
    }
  });

  test.each([
    ['has an empty reason', chunk(choice(0, 'a', ''))],
    ['has a reason that is none', chunk(choice(0, 'a', 'error'))],
    ['tells a reason in its text', says('a","finish_reason":"stop')],
    ['ends one choice of two', chunk(choice(0, 'a'), choice(1, 'b')) + ended],
    ['begins another one', ended + chunk(choice(1, 'b'))],
    ['begins another one with sorted names', ended + sorted({ content: 'b' }, null, 1)],
    ['tells nothing but the usage', event({ choices: [], usage })],
    ['is cut inside its end', `${ended}data: [DONE`],
    ['is cut inside the usage', `${ended}${event({ choices: [], usage }).slice(0, -4)}`],
    ['is cut inside the name of a field', `${ended}da`],
    ['is cut inside its reason', ended.slice(0, -4)],
  ])('are broken when the stream ends without [DONE] and %s', (_name, text) => {
    const { events } = start();
    pass(events, text);
    expect(events.whole).toBe(false);
    expect(events.broken?.message).toBe('ended before it was complete');
  });

  test('drop what follows the end', () => {
    const { events } = start();
    expect(pass(events, `${says('a')}${DONE}${says('b')}garbage`).chunks).toHaveLength(1);
    expect(events.broken).toBeUndefined();
  });

  test.each([
    ['ends too early', says('a'), 'ended before it was complete', 1],
    ['is cut inside an event', `${says('a')}data: {"id":"c`, 'ended before it was complete', 1],
    ['is cut inside a character', Buffer.from(`${says('a')}data: {"é`).subarray(0, -1), 'ended', 1],
    ['is cut inside its end', `${says('a')}data: [DONE`, 'ended before it was complete', 1],
    ['lacks the last empty line', `${says('a')}${says('b').trimEnd()}`, 'ended before', 1],
    ['holds an error', `${says('a')}data: {"error":{"message":"m"}}\n\n`, 'with an error', 1],
    ['holds half an object', `${says('a')}data: {"id":\n\n${DONE}`, 'is not JSON', 1],
    ['holds no object', `data: nonsense\n\n${DONE}`, 'is not JSON', 0],
    ['has another shape', `data: {"choices":7,"model":"x"}\n\n${DONE}`, 'wrong shape', 0],
    ['never ends a line', 'x'.repeat(1_100_000), 'is garbled', 0],
    ['never ends an event', 'data: x\n'.repeat(150_000), 'is garbled', 0],
  ])('are broken when the stream %s; what was good is passed on', (_name, text, why, good) => {
    for (const cuts of [[], [100, 101, 102, 500_000]]) {
      const { events } = start();
      expect(pass(events, text, cuts).chunks).toHaveLength(good);
      expect(events.whole).toBe(false);
      expect(events.broken?.message).toContain(why);
    }
  });

  test('take an event of a megabyte in a million pieces', () => {
    const { events } = start();
    const bytes = Buffer.from(says('x\n'.repeat(250_000)));
    let passed = '';
    for (let at = 0; at < bytes.length; at += 1) passed += events.push(bytes.subarray(at, at + 1));
    expect(passed.length).toBeGreaterThan(500_000);
  });
});
