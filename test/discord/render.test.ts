import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Card, CardPart } from '../../src/bot/card.ts';
import { renderCard } from '../../src/discord/render.ts';
import { checkMessage } from '../fakes/discord-limits.ts';

const card = (parts: CardPart[], more: Partial<Card> = {}): Card => ({
  tone: 'info',
  title: 'Title',
  parts,
  ...more,
});

test('a card becomes an embed with its colour, facts as fields and a footer', () => {
  expect(
    renderCard(
      card(
        [
          { kind: 'text', text: 'Down since a while' },
          { kind: 'facts', facts: [{ label: 'Target', value: 'https://example.com' }] },
        ],
        { tone: 'bad', title: 'Shop is DOWN', footer: 'Askwatch' },
      ),
    ),
  ).toEqual({
    title: 'Shop is DOWN',
    color: 0xcf222e,
    description: 'Down since a while',
    fields: [{ name: 'Target', value: 'https://example.com', inline: true }],
    footer: { text: 'Askwatch' },
  });
});

test('a moment is shown in the reader’s time zone and as time gone by', () => {
  const embed = renderCard(
    card([{ kind: 'facts', facts: [{ label: 'Since', value: { atMs: 1_790_000_000_999 } }] }]),
  );
  expect(embed.fields?.[0]?.value).toBe('<t:1790000000:f> (<t:1790000000:R>)');
});

test('a table is aligned in a fixed-width font', () => {
  const embed = renderCard(
    card([
      {
        kind: 'table',
        columns: ['Status', 'Name'],
        rows: [
          ['DOWN', 'Shop'],
          ['UP', 'A `name` ``` with\nbreaks'],
        ],
      },
    ]),
  );
  expect(embed.description).toBe(
    '```\nStatus  Name\nDOWN    Shop\nUP      A `name` `\u200b`\u200b` with breaks\n```',
  );
});

test('rows that do not fit are counted', () => {
  const rows = Array.from({ length: 500 }, (_, index) => [`monitor ${index}`, 'x'.repeat(30)]);
  const { description = '' } = renderCard(
    card([{ kind: 'table', columns: ['Name', 'Target'], rows }]),
  );
  expect(description.length).toBeLessThanOrEqual(4_096);
  const shown = description.split('\n').filter((line) => line.startsWith('monitor')).length;
  expect(description).toContain(`… and ${500 - shown} more\n\`\`\``);
});

test('what is to be copied is shown as it is', () => {
  const embed = renderCard(card([{ kind: 'code', text: 'curl -X POST http://x/_a_*' }]));
  expect(embed.description).toBe('```\ncurl -X POST http://x/_a_*\n```');
});

const hostile = fc.oneof(
  fc.string({
    unit: fc.constantFrom('*', '`', '@everyone ', 'x', '\n', '👍', '<@1>'),
    maxLength: 6_000,
  }),
  fc.nat(6_000).map((length) => '`'.repeat(length)),
);
const hostilePart: fc.Arbitrary<CardPart> = fc.oneof(
  hostile.map((text) => ({ kind: 'text' as const, text })),
  hostile.map((text) => ({ kind: 'code' as const, text })),
  fc
    .array(fc.record({ label: hostile, value: hostile }), { maxLength: 40 })
    .map((facts) => ({ kind: 'facts' as const, facts })),
  fc
    .array(fc.tuple(hostile, hostile), { maxLength: 40 })
    .map((rows) => ({ kind: 'table' as const, columns: ['One', 'Two'], rows })),
);

test('whatever a card holds, Discord takes it', () => {
  fc.assert(
    fc.property(
      fc.array(hostilePart, { maxLength: 5 }),
      hostile,
      fc.option(hostile, { nil: undefined }),
      (parts, title, footer) => {
        const embed = renderCard(
          card(parts, { title: title || 'x', ...(footer ? { footer } : {}) }),
        );
        expect(checkMessage({ embeds: [{ ...embed }] }, 'post')).toBeUndefined();
        // What is to be copied stays as it is; a code block shows no mentions.
        const shown = renderCard(card(parts.filter(({ kind }) => kind !== 'code')));
        expect(JSON.stringify(shown)).not.toMatch(/@everyone|<@/);
      },
    ),
    { numRuns: process.env.ASKWATCH_TEST_LONG === '1' ? 500 : 40 },
  );
});
