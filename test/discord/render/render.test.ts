import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Card, CardAction, CardPart } from '../../../src/bot/shared/card.ts';
import { runbookFacts } from '../../../src/bot/shared/target-link.ts';
import { renderMessage } from '../../../src/discord/render/render.ts';
import { markdownWithTimes } from '../../../src/discord/render/text.ts';
import { checkMessage } from '../../fakes/discord/limits.ts';
import { anyChart } from '../../helpers/any-chart.ts';
import { long } from '../../helpers/long.ts';

const card = (parts: CardPart[], more: Partial<Card> = {}): Card => ({
  tone: 'info',
  title: 'Title',
  parts,
  ...more,
});

function embedOf(shown: Card) {
  const [embed] = renderMessage(shown).embeds;
  if (!embed) throw new Error('There is no embed.');
  return embed;
}

test('a card becomes an embed with its colour, facts as fields and a footer', () => {
  expect(
    embedOf(
      card(
        [
          { kind: 'text', text: 'Down since a while' },
          { kind: 'facts', facts: [{ label: 'Target', value: 'https://example.com' }] },
        ],
        { tone: 'bad', title: 'Shop is down', footer: 'Askwatch' },
      ),
    ),
  ).toEqual({
    title: 'Shop is down',
    color: 0xcf222e,
    description: 'Down since a while',
    fields: [{ name: 'Target', value: 'https://example.com', inline: true }],
    footer: { text: 'Askwatch' },
  });
});

test('a runbook is shown as text that mentions nobody and links nowhere', () => {
  const facts = runbookFacts('<@1> @everyone **bold** [bank](https://evil.example)');
  const { fields } = embedOf(card([{ kind: 'facts', facts }]));
  expect(fields?.[0]?.value).toContain('bank');
  expect(JSON.stringify(fields)).not.toMatch(/<@|@everyone|\[bank\]\(|[^\\]\*\*/);
});

test('a moment is shown in the reader’s time zone and as time gone by', () => {
  const embed = embedOf(
    card([{ kind: 'facts', facts: [{ label: 'Since', value: { atMs: 1_790_000_000_999 } }] }]),
  );
  expect(embed.fields?.[0]?.value).toBe('<t:1790000000:f> (<t:1790000000:R>)');
});

test('a table is aligned in a fixed-width font', () => {
  const embed = embedOf(
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
  const { description = '' } = embedOf(
    card([{ kind: 'table', columns: ['Name', 'Target'], rows }]),
  );
  expect(description.length).toBeLessThanOrEqual(4_096);
  const shown = description.split('\n').filter((line) => line.startsWith('monitor')).length;
  expect(description).toContain(`… and ${500 - shown} more\n\`\`\``);
});

test('findings are a list with moments, and links with their host as words', () => {
  const { description } = embedOf(
    card([
      {
        kind: 'findings',
        heading: 'Changes *before* it',
        items: [
          { atMs: 1_790_000_000_999, text: 'Deployed', url: 'https://ci.example/1)](<@1>?`' },
          { text: '@everyone [x](javascript:alert(1))\n<https://evil|x> https://evil.example' },
          { text: 'x', url: 'https://bank.example@evil.example' },
        ],
      },
    ]),
  );
  expect(description).toBe(
    [
      '**Changes \\*before\\* it**',
      '• <t:1790000000:f> Deployed [ci.example](<https://ci.example/1%29]%28%3C%401%3E?%60>)',
      '• ＠everyone \\[x\\]\\(javascript:alert\\(1\\)\\) \\<https\\://evil\\|x\\> https\\://evil.example',
      '• x',
    ].join('\n'),
  );
});

test.each([
  ['v1.2', 'https://ci.example/1', '[v1.2](<https://ci.example/1>) (ci.example)'],
  [
    '[x](y) @here',
    'https://ci.example/)',
    '[\\[x\\]\\(y\\) ＠here](<https://ci.example/%29>) (ci.example)',
  ],
  ['https://bank.example', 'https://ci.example/1', 'https\\://bank.example'],
  ['v1.2', 'javascript:alert(1)', 'v1.2'],
  ['v1.2', `https://ci.example/${"'".repeat(400)}`, 'v1.2'],
  [' ', 'https://ci.example/1', '[–](<https://ci.example/1>) (ci.example)'],
])('the fact %j with the address %j is the value %j', (text, url, value) => {
  const facts = [{ label: 'Deploy', value: { text, url } }];
  expect(embedOf(card([{ kind: 'facts', facts }])).fields?.[0]?.value).toBe(value);
});

test('findings that do not fit are counted', () => {
  const items = Array.from({ length: 500 }, (_, index) => ({
    ...{ text: `finding ${index} ${'x'.repeat(30)}`, url: 'https://a.example' },
  }));
  const { description = '' } = embedOf(card([{ kind: 'findings', items }]));
  expect(description.length).toBeLessThanOrEqual(4_096);
  const shown = description.split('\n').filter((line) => line.startsWith('• finding')).length;
  expect(shown).toBeGreaterThan(40);
  expect(description).toMatch(new RegExp(`\n… and ${500 - shown} more$`));
});

test('what is to be copied is shown as it is', () => {
  const embed = embedOf(card([{ kind: 'code', text: 'curl -X POST http://x/_a_*' }]));
  expect(embed.description).toBe('```\ncurl -X POST http://x/_a_*\n```');
});

const action = (label: string, incident: string): CardAction => ({
  label,
  command: 'incident check',
  values: { incident },
});

test('actions become a row of buttons that carry all they need', () => {
  const { components } = renderMessage(card([], { actions: [action('Check now', 'a&b')] }));
  expect(components).toEqual([
    {
      type: 1,
      components: [
        { type: 2, style: 2, label: 'Check now', custom_id: 'incident check?incident=a%26b' },
      ],
    },
  ]);
});

test.each([[undefined], [[]]])(
  'a card with the actions %j says that there are no buttons',
  (none) => {
    const shown = renderMessage(card([], none ? { actions: none } : {}));
    expect(shown.components).toEqual([]);
  },
);

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
    .array(
      fc.record({
        label: hostile,
        value: fc.oneof(hostile, fc.record({ text: hostile, url: fc.oneof(fc.webUrl(), hostile) })),
      }),
      { maxLength: 40 },
    )
    .map((facts) => ({ kind: 'facts' as const, facts })),
  fc
    .array(fc.tuple(hostile, hostile), { maxLength: 40 })
    .map((rows) => ({ kind: 'table' as const, columns: ['One', 'Two'], rows })),
  fc.record({
    kind: fc.constant('findings' as const),
    heading: fc.option(hostile, { nil: undefined }),
    items: fc.array(
      fc.record(
        {
          text: hostile,
          atMs: fc.nat(),
          url: fc.oneof(fc.webUrl({ withFragments: true }), hostile),
        },
        { requiredKeys: ['text'] },
      ),
      { maxLength: 40 },
    ),
  }),
  anyChart(hostile),
);

test('whatever a card holds, Discord takes it', () => {
  fc.assert(
    fc.property(
      fc.array(hostilePart, { maxLength: 5 }),
      hostile,
      fc.option(hostile, { nil: undefined }),
      fc.array(hostile, { maxLength: 7 }),
      (parts, title, footer, labels) => {
        const actions = labels.map((label, index) => action(label, String(index)));
        const message = renderMessage(
          card(parts, { title: title || 'x', ...(footer ? { footer } : {}), actions }),
        );
        expect(checkMessage(JSON.parse(JSON.stringify(message)), 'post')).toBeUndefined();
        // Code stays as it is, since it shows no mentions.
        const shown = embedOf(card(parts.filter(({ kind }) => kind !== 'code')));
        expect(JSON.stringify(shown)).not.toMatch(/@everyone|<@/);
      },
    ),
    { numRuns: long ? 500 : 20 },
  );
});

test("moments that a text or a fact names are drawn by the reader's clock, and code stays as it is", () => {
  const { description, fields } = embedOf(
    card([
      { kind: 'text', text: 'Up since 2026-11-28 14:05 UTC.' },
      { kind: 'code', text: '14:05 UTC' },
      { kind: 'facts', facts: [{ label: 'Checked', value: '26 Nov 2026 14:06 UTC' }] },
    ]),
  );
  expect(description).toBe('Up since <t:1795874700:f>.\n```\n14:05 UTC\n```');
  expect(fields?.[0]?.value).toBe('<t:1795701960:f>');
  expect(markdownWithTimes('**Shop**: 2026-11-28 14:05 UTC, `14:05 UTC`, ```\n14:05 UTC')).toBe(
    '**Shop**: <t:1795874700:f>, `14:05 UTC`, ```\n14:05 UTC',
  );
});
