import { expect, test } from 'vitest';
import { MAX_CHARACTERS } from '../../../src/bot/investigations/investigation-card.ts';
import type { Fault, Script } from '../../fakes/model-provider.ts';
import { OPS } from '../../helpers/bot/alerted-bot.ts';
import { startInvestigatedBot } from '../../helpers/bot/investigated-bot.ts';
import { callOf } from '../../helpers/bot/other-tools.ts';
import { cardOf, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';

/** More than an answer may make. */
const CALLS = Array.from({ length: 20 }, (_, at) => callOf('get_uptime', { last: `${at + 1}h` }));

const SILENT = { settings: { askStallMs: 500 } };

const FAULTS: Record<
  string,
  { fault?: Fault; script?: Script; settings?: { askStallMs: number }; note: RegExp }
> = {
  'sends nothing': { ...SILENT, fault: { kind: 'hang-before-headers' }, note: /sent nothing for/ },
  stalls: { ...SILENT, fault: { kind: 'stall', afterChunks: 2 }, note: /sent nothing for/ },
  'rejects the key': { fault: { kind: 'status', status: 401 }, note: /rejected .* key \(401\)/ },
  'limits requests': {
    fault: { kind: 'status', status: 429, headers: { 'retry-after': '30' } },
    note: /Try again in 30 seconds/,
  },
  fails: { fault: { kind: 'status', status: 503 }, note: /answered with an error \(503\)/ },
  'is cut off': { fault: { kind: 'cut', afterChunks: 2 }, note: /cut off/ },
  'answers nothing': { script: '', note: /empty answer/ },
  'never ends': { fault: { kind: 'endless' }, note: /longer than Askwatch can show/ },
  'only calls functions': { script: { calls: CALLS }, note: /empty answer/ },
};

test.each(Object.entries(FAULTS))(
  'ends with a note and the facts if the model %s',
  async (_what, { note, ...options }) => {
    const world = await startInvestigatedBot(options);
    const { card } = await world.concluded();
    const text = textOf(card);
    expect(text).toMatch(note);
    expect(text).toMatch(/^No likely cause found[\s\S]*Looked up\n• .*Shop .* became DOWN/);
    expect(text.length).toBeLessThan(MAX_CHARACTERS);
    expect(text).not.toMatch(/ask again|Ask for less/i);
    expect(card.actions?.map(({ label }) => label)).toEqual(['Investigate again', 'Not now']);
    expect(textOf(world.alert.card)).not.toContain('see thread');
  },
);

test('makes eight calls at most, however many the model wants', async () => {
  const world = await startInvestigatedBot({ script: { calls: CALLS } });
  await world.concluded();
  const results = world.provider.calls
    .at(-1)
    ?.body.messages.filter(({ role }: { role: string }) => role === 'tool');
  const refused = results.filter(({ content }: { content: string }) =>
    content.includes('up to 8 calls'),
  );
  expect(results.length - refused.length).toBe(8);
});

test('answers commands while a model is silent', async () => {
  const world = await startInvestigatedBot({ fault: { kind: 'hang-before-headers' } });
  await eventually(() => world.provider.calls.length === 1);
  const listed = cardOf(await world.say('/monitor list', { place: OPS }));
  expect(textOf(listed)).toContain('Shop');
  expect(world.message()?.card.title).toBe('Looking for the cause…');
});

test('counts the facts that a silent model has read against the budget', async () => {
  const world = await startInvestigatedBot({
    ...{ ...SILENT, fault: { kind: 'hang-before-headers' } },
  });
  const { card } = await world.concluded();
  const [, spent = '0'] = /(\d+) of 1,000,000 tokens today/.exec(textOf(card)) ?? [];
  expect(Number(spent)).toBeGreaterThan(20);
  const stored = async () => (await world.usageLog.since(OPS, 0)).map(({ tokens }) => tokens);
  await eventually(async () => (await stored()).at(-1) === Number(spent));
});
