import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GarbledStreamError, readEvents } from '../../src/contracts/event-reader.ts';

async function read(parts: Iterable<Uint8Array>, limit = 1_000_000): Promise<string[]> {
  return (await readAll(parts, limit)).events;
}

/** All events, and whether the body was whole. */
async function readAll(parts: Iterable<Uint8Array>, limit = 1_000_000) {
  const events: string[] = [];
  async function* body() {
    yield* parts;
  }
  const reading = readEvents(body(), limit);
  for (;;) {
    const { value, done } = await reading.next();
    if (done) return { events, whole: value };
    events.push(value.data);
  }
}

const bytes = (text: string) => Buffer.from(text);

describe('the data of events', () => {
  test.each([
    ['one event', 'data: a\n\n', ['a']],
    ['carriage returns', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['no space, and a second space', 'data:a\n\ndata:  b\n\n', ['a', ' b']],
    ['comments and other fields', ': ping\n\nevent: x\nid: 1\ndata: a\n\n', ['a']],
    ['two lines', 'data: a\ndata: b\n\n', ['a\nb']],
    ['a last event without its empty line', 'data: a\n\ndata: b\n', ['a', 'b']],
    ['a last line that is not whole', 'data: a\n\ndata: {"b":', ['a']],
    ['a last line without its line break', 'data: a\n\ndata: {"b":1}', ['a', '{"b":1}']],
  ])('is read: %s', async (_name, text, events) => {
    expect(await read([bytes(text)])).toEqual(events);
  });

  test.each([
    ['an empty line', 'data: a\n\n', true],
    ['a line break', 'data: {}\n', true],
    ['JSON', 'data: {}\n\ndata: {"b":1}', true],
    ['the word for the end', 'data: {}\n\ndata: [DONE]', true],
    ['a comment', 'data: {}\n\n: ping', true],
    ['half of JSON', 'data: {}\n\ndata: {"b":', false],
    ['half of a second line', 'data: {}\ndata: {', false],
    ['half of the name of a field', 'data: {}\n\ndata', false],
    ['another field', 'data: {}\n\nevent: x', false],
  ])('a body that ends in %s is whole or cut', async (_name, text, whole) => {
    expect((await readAll([bytes(text)])).whole).toBe(whole);
    expect((await readAll([...text].map(bytes))).whole).toBe(whole);
  });

  test('is the same wherever packets are cut', async () => {
    const event = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ' '));
    const property = fc.asyncProperty(
      fc.array(event),
      fc.infiniteStream(fc.nat(9)),
      async (events, cuts) => {
        const whole = bytes(events.map((data) => `data: ${data}\n\n`).join(''));
        const parts: Uint8Array[] = [];
        for (let at = 0; at < whole.length; ) {
          const size = (cuts.next().value ?? 0) + 1;
          parts.push(whole.subarray(at, at + size));
          at += size;
        }
        expect(await read(parts)).toEqual(events);
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  test('is refused when it is too long or no text', async () => {
    await expect(read([bytes('x'.repeat(60)), bytes('x'.repeat(60))], 100)).rejects.toThrow(
      GarbledStreamError,
    );
    await expect(read([Buffer.from([0x64, 0xff, 0x0a])])).rejects.toThrow(GarbledStreamError);
  });
});
