import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Card, CardAction, CardPart } from '../../../src/bot/shared/card.ts';
import { decodeAction } from '../../../src/bot/shared/card.ts';
import { runbookFacts } from '../../../src/bot/shared/target-link.ts';
import {
  ANSWER_LIMIT,
  renderAnswer,
  renderNote,
  renderQuestion,
} from '../../../src/slack/render/render-answer.ts';
import { renderCard } from '../../../src/slack/render/render-card.ts';
import { blocksProblem, calledBy, LIMITS, shownText } from '../../fakes/slack/limits.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { anyChart } from '../../helpers/any-chart.ts';
import { long } from '../../helpers/long.ts';

const PLAIN = (text: string) => ({ type: 'text', text });
const LINK = (text: string) => ({ type: 'link', url: 'https://ci.example/1', text });
const HOSTILE = '<!channel> <@U1> *bold* `code` :smile: <https://evil.example|bank> & \u202e';

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 4_000 }),
  fc.constant(HOSTILE.repeat(50)),
);
const part: fc.Arbitrary<CardPart> = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), text }),
  fc.record({ kind: fc.constant('code' as const), text }),
  fc.record({
    kind: fc.constant('facts' as const),
    facts: fc.array(
      fc.record({
        label: text,
        value: fc.oneof(
          text,
          fc.record({ atMs: fc.integer({ min: 0, max: 4e12 }) }),
          fc.record({ text, url: fc.oneof(fc.webUrl(), text) }),
        ),
      }),
      { maxLength: 15 },
    ),
  }),
  fc.record({
    kind: fc.constant('table' as const),
    columns: fc.array(text, { minLength: 1, maxLength: 25 }),
    rows: fc.array(fc.array(text, { maxLength: 25 }), { maxLength: 120 }),
  }),
  fc.record(
    {
      kind: fc.constant('findings' as const),
      heading: text,
      items: fc.array(
        fc.record(
          { text, atMs: fc.integer({ min: 0, max: 4e12 }), url: fc.oneof(fc.webUrl(), text) },
          { requiredKeys: ['text'] },
        ),
        { maxLength: 120 },
      ),
    },
    { requiredKeys: ['kind', 'items'] },
  ),
  anyChart(text),
);
const action: fc.Arbitrary<CardAction> = fc.record({
  label: text,
  command: fc.constant('incident check'),
  values: fc.record({ incident: fc.constantFrom('', 'a1', '<!here>', '&?=#') }),
});
const card: fc.Arbitrary<Card> = fc.record(
  {
    tone: fc.constantFrom('good', 'bad', 'warning', 'info'),
    title: text,
    parts: fc.array(part, { maxLength: 60 }),
    footer: text,
    actions: fc.array(action, { maxLength: 5 }),
    link: fc.record({ label: text, url: fc.oneof(fc.webUrl(), text) }),
  },
  { requiredKeys: ['tone', 'title', 'parts'] },
);

describe('a card', () => {
  test('keeps every limit of Slack, whatever is in it', () => {
    fc.assert(
      fc.property(card, (any) => {
        const { text: fallback, blocks } = renderCard(any);
        expect(fallback).not.toBe('');
        expect(fallback).not.toMatch(/[<>]/);
        expect(calledBy({ text: fallback, blocks })).toEqual([]);
        for (const content of [renderCard(any), renderCard(any, 'S0614TZR7')]) {
          expect(blocksProblem(content.blocks)).toBeUndefined();
          expect(content.blocks.length).toBeLessThan(LIMITS.blocks);
          expect(content.text.length).toBeLessThanOrEqual(LIMITS.editedText);
        }
      }),
      { numRuns: long ? 300 : 12 },
    );
  });
  test('a card of many short parts leaves room for a mark, its footer and a note', () => {
    const { text: fallback, blocks } = renderCard({
      tone: 'info',
      title: 'many',
      parts: Array.from({ length: 60 }, (_, index) => ({ kind: 'text', text: `part ${index}` })),
      footer: 'the end',
    });
    expect(blocksProblem(blocks)).toBeUndefined();
    expect(blocks).toHaveLength(LIMITS.blocks - 1);
    expect(shownText({ text: fallback, blocks })).toMatch(/part 45\s+…\s+the end$/);
  });
  test('shows buttons that say what they do and carry all of it, also twice the same', () => {
    const same: CardAction = { label: 'Same', command: 'x y', values: { a: '<!here> & "b"?' } };
    const { blocks } = renderCard({
      tone: 'bad',
      title: 'Shop is down',
      parts: [],
      actions: [same, same, { ...same, label: HOSTILE.repeat(9) }, { ...same, label: ' \n ' }],
    });
    expect(blocksProblem(blocks)).toBeUndefined();
    const { elements } = blocks[1] as unknown as {
      elements: { value: string; text: { type: string; text: string; emoji: boolean } }[];
    };
    expect(elements.map(({ text }) => text.text)).toEqual([
      'Same',
      'Same',
      expect.stringMatching(/^<!channel> .*…$/),
      '…',
    ]);
    for (const { value, text } of elements) {
      expect(decodeAction(value)).toEqual({ command: 'x y', values: same.values });
      expect(text).toMatchObject({ type: 'plain_text', emoji: false });
    }
  });

  test('shows its texts as they are, in fields that Slack does not parse', () => {
    const content = renderCard({
      tone: 'bad',
      title: `${HOSTILE} is down`,
      parts: [
        { kind: 'text', text: HOSTILE },
        { kind: 'facts', facts: [{ label: 'Target', value: HOSTILE }] },
        { kind: 'table', columns: ['Name'], rows: [[HOSTILE]] },
        { kind: 'code', text: HOSTILE },
      ],
      footer: HOSTILE,
    });
    const json = JSON.stringify(content.blocks);
    expect(json).not.toContain('mrkdwn');
    expect(json).not.toMatch(/"emoji":true/);
    const visible = HOSTILE.replace('\u202e', '').trim();
    expect(shownText(content).split(visible).length - 1).toBe(6);
    expect(content.text).toContain('&lt;!channel&gt; &lt;@U1&gt;');
  });

  test('shows a runbook as text that mentions nobody and links nowhere', () => {
    const parts: CardPart[] = [{ kind: 'facts', facts: runbookFacts(HOSTILE) }];
    const message = renderCard({ tone: 'bad', title: 'Shop is down', parts });
    expect(shownText(message)).toContain('*bold*');
    expect(calledBy(message)).toEqual([]);
    expect(JSON.stringify(message.blocks)).not.toContain('"type":"link"');
  });

  test('begins with its tone, and shows moments in the reader’s own time', () => {
    const { blocks, text: fallback } = renderCard({
      tone: 'good',
      title: 'Shop is up',
      parts: [{ kind: 'facts', facts: [{ label: 'Since', value: { atMs: 1_763_700_000_500 } }] }],
    });
    expect(fallback).toBe('🟢 Shop is up\nSince: 2025-11-21 04:40:00 UTC');
    expect(blocks[0]).toMatchObject({ type: 'header', text: { text: '🟢 Shop is up' } });
    expect(JSON.stringify(blocks[1])).toContain('"type":"date","timestamp":1763700000');
  });

  test('shows findings as a list with moments, and links with their host as words', () => {
    const { blocks } = renderCard({
      tone: 'info',
      title: 'Looked into it',
      parts: [
        {
          kind: 'findings',
          heading: 'Changes *before* it',
          items: [
            { atMs: 1_763_700_000_500, text: 'Deployed', url: 'https://ci.example/1?a=<b>' },
            { text: `${HOSTILE}\nagain`, url: 'https://bank.example@evil.example' },
          ],
        },
      ],
    });
    const words = (text: string) => ({ type: 'text', text });
    const line = (...elements: object[]) => ({ type: 'rich_text_section', elements });
    const moment = {
      ...{ type: 'date', timestamp: 1_763_700_000, format: '{date_short_pretty} {time}' },
      fallback: '2025-11-21 04:40:00 UTC',
    };
    const link = { type: 'link', url: 'https://ci.example/1?a=%3Cb%3E', text: 'ci.example' };
    expect(blocks[1]).toEqual({
      type: 'rich_text',
      elements: [
        line({ ...words('Changes *before* it'), style: { bold: true } }),
        {
          type: 'rich_text_list',
          style: 'bullet',
          elements: [
            line(moment, words(' '), words('Deployed'), words(' '), link),
            line(words(`${HOSTILE.replace('\u202e', '')}again`)),
          ],
        },
      ],
    });
    expect(blocksProblem(blocks)).toBeUndefined();
  });

  test.each([
    ['v1.2 <!here>', 'https://ci.example/1', [LINK('v1.2 <!here>'), PLAIN(' (ci.example)')]],
    ['https://bank.example', 'https://ci.example/1', [PLAIN('https://bank.example')]],
    ['v1.2', 'javascript:alert(1)', [PLAIN('v1.2')]],
    [' ', 'https://ci.example/1', [LINK('–'), PLAIN(' (ci.example)')]],
  ])('shows the fact %j with the address %j as a link with its host, or as text', (...row) => {
    const [words, url, elements] = row;
    const facts = [{ label: 'Deploy', value: { text: words, url } }];
    const { blocks } = renderCard({
      ...{ tone: 'info', title: 'Shop', parts: [{ kind: 'facts', facts }] },
    });
    const [section] = (blocks[1] as { elements: Array<{ elements: unknown[] }> }).elements;
    expect(section?.elements.slice(1)).toEqual(elements);
    expect(blocksProblem(blocks)).toBeUndefined();
  });

  test.each([
    ['many', 'x', 50],
    ['long', 'x'.repeat(400), 22],
  ])('counts findings that don’t fit because they are %s', (_why, words, shown) => {
    const items = Array.from({ length: 500 }, () => ({ text: words, url: `https://a.example` }));
    const content = renderCard({
      ...{ tone: 'info', title: 'Found', parts: [{ kind: 'findings', items }] },
    });
    expect(blocksProblem(content.blocks)).toBeUndefined();
    expect(shownText(content)).toContain(`… and ${500 - shown} more`);
  });

  test('shows a table as Slack’s own while it fits, as lines when it does not', () => {
    const table = (rows: number): Card => ({
      tone: 'info',
      title: 'Monitors',
      parts: [
        { kind: 'table', columns: ['Status', 'Name'], rows: Array(rows).fill(['UP', 'Shop']) },
      ],
    });
    expect(renderCard(table(99)).blocks[1]).toMatchObject({ type: 'table' });
    const long = renderCard(table(100)).blocks[1];
    expect(long).toMatchObject({ type: 'rich_text' });
    expect(JSON.stringify(long)).toContain('Status  Name\\nUP      Shop\\n');
  });
});

describe('an answer', () => {
  test('is the text in Markdown blocks, and says that it goes on', () => {
    const [first, last] = renderAnswer({ messages: ['# One', 'Two'] });
    expect(first?.blocks).toEqual([{ type: 'markdown', text: '# One' }]);
    expect(last && shownText(last)).toBe('Two\nWriting…');
  });

  test('ends with its note and its footer', () => {
    const end = { note: 'The model stopped.', footer: 'small-4k · 1.2 s' };
    const [only] = renderAnswer({ messages: ['Half'], end });
    expect(only && shownText(only)).toBe('Half\n⚠️ The model stopped.\nsmall-4k · 1.2 s');
    expect(only?.text).toBe('Half');
  });
  test('stays within Slack’s limits when every character has to be escaped', () => {
    for (const piece of ['<@U1>', '&', '<', '@here ']) {
      const messages = [piece.repeat(ANSWER_LIMIT / piece.length)];
      for (const { text: fallback, blocks } of renderAnswer({ messages })) {
        expect(blocksProblem(blocks)).toBeUndefined();
        expect(fallback.length).toBeLessThanOrEqual(LIMITS.editedText);
      }
    }
  });
});

test('a question names the asker without calling anyone', () => {
  const content = renderQuestion('<@U1>', 'why <!here>?');
  expect(content.text).toBe('&lt;@U1&gt; asks: why &lt;!here&gt;?');
  expect(shownText(content)).toBe('<@U1> asks\nwhy <!here>?');
  expect(blocksProblem(content.blocks)).toBeUndefined();
  expect(blocksProblem(renderQuestion('', ' '.repeat(50_000)).blocks)).toBeUndefined();
  expect(blocksProblem(renderQuestion('n'.repeat(500), 'q'.repeat(50_000)).blocks)).toBeUndefined();
  expect(blocksProblem(renderNote('x'.repeat(5_000)).blocks)).toBeUndefined();
});

test('the fake refuses what Slack refuses under a message', () => {
  const button = {
    type: 'button',
    action_id: 'a',
    text: { type: 'plain_text', text: 'Check' },
    value: 'v',
  };
  const problem = (...elements: unknown[]) => blocksProblem([{ type: 'actions', elements }]);
  expect(problem(button, { ...button, action_id: 'b' })).toBeUndefined();
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...button, action_id: `a${index}` }));
  expect(problem(...many(25))).toBeUndefined();
  for (const wrong of [
    [],
    many(26),
    [button, button],
    [{ ...button, text: { type: 'plain_text', text: '' } }],
    [{ ...button, text: { type: 'plain_text', text: 'x'.repeat(76) } }],
    [{ ...button, text: { type: 'mrkdwn', text: 'x' } }],
    [{ ...button, value: 'x'.repeat(2_001) }],
    [{ ...button, action_id: '' }],
  ]) {
    expect(problem(...wrong)).toBe('invalid_blocks');
  }
});

test("moments that a text, a fact or a cell names are drawn by the reader's clock", () => {
  const { blocks } = renderCard({
    tone: 'info',
    title: 'Shop is up',
    parts: [
      { kind: 'text', text: 'Up since 2026-11-28 14:05 UTC.' },
      { kind: 'facts', facts: [{ label: 'Checked', value: '14:06:07 UTC' }] },
      { kind: 'table', columns: ['Down from'], rows: [['2026-11-27 10:00 UTC']] },
    ],
  });
  const dates = JSON.stringify(blocks).match(/"type":"date".*?"fallback":"[^"]*"/g);
  expect(dates).toEqual([
    `"type":"date","timestamp":1795874700,"format":"{date_short_pretty} {time}","fallback":"2026-11-28 14:05 UTC"`,
    expect.stringMatching(/"format":"{time_secs}","fallback":"14:06:07 UTC"/),
    `"type":"date","timestamp":1795773600,"format":"{date_short_pretty} {time}","fallback":"2026-11-27 10:00 UTC"`,
  ]);
  expect(blocksProblem(blocks)).toBeUndefined();
});

test('the fake takes Slack’s own buttons within their limits', () => {
  const button = (text: string, value: string) => ({ text: { type: 'plain_text', text }, value });
  const block = (good: object, bad = button('👎', 'b')) => [
    {
      type: 'context_actions',
      elements: [
        { type: 'feedback_buttons', action_id: 'a', positive_button: good, negative_button: bad },
      ],
    },
  ];
  expect(blocksProblem(block(button('👍', 'a'.repeat(2_000))))).toBeUndefined();
  expect(blocksProblem(block(button('👍', 'a'.repeat(2_001))))).toBe('invalid_blocks');
  expect(blocksProblem(block(button('👍'.repeat(40), 'a')))).toBe('invalid_blocks');
  expect(blocksProblem(block(button('👍', 'a'), button('', 'b')))).toBe('invalid_blocks');
  expect(blocksProblem([{ type: 'context_actions', elements: [] }])).toBe('invalid_blocks');
});
