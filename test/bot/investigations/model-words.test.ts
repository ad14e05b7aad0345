import { expect, test } from 'vitest';
import { readConclusion } from '../../../src/bot/investigations/conclusion.ts';
import {
  concludedCard,
  MAX_CHARACTERS,
} from '../../../src/bot/investigations/investigation-card.ts';
import { findingsText } from '../../../src/bot/shared/card.ts';
import { textOf } from '../../helpers/bot.ts';

test('shows no address in a model’s words that a platform makes a link of', () => {
  const long = `http${'x'.repeat(21)}:////://evil.example`;
  const words = `See https://evil.example/?q=1 and HTTP://evil.example, http::////evil.example ${long}`;
  const said = {
    ...{ cause: words, confidence: 'high', next_step: words, not_seen: [words] },
    ...{ evidence: [{ fact: 'F1' }], ruled_out: [{ what: words, fact: 'F1' }] },
  };
  const facts = [{ id: 'F1', text: 'Shop is DOWN' }];
  const card = concludedCard(readConclusion(JSON.stringify(said), { facts, tools: [] }), '');
  expect(textOf(card)).toContain(
    'Try first: See evil.example/?q=1 and evil.example, evil.example http',
  );
  expect(textOf(card)).not.toContain('://');
});

test('shows at most 1,200 characters, with the times of its evidence', () => {
  const facts = Array.from({ length: 12 }, (_, no) => ({
    ...{
      id: `F${no}`,
      text: `${no} ${'x'.repeat(95)}`,
      atMs: Date.parse('2026-11-26T12:00:00Z'),
    },
  }));
  const said = {
    ...{ cause: 'It was the moon', confidence: 'high', next_step: 'Wait', not_seen: ['the moon'] },
    evidence: facts.map(({ id }) => ({ fact: id })),
    ruled_out: facts.map(({ id }) => ({ what: 'The sun', fact: id })),
  };
  const { title, parts, footer } = concludedCard(
    readConclusion(JSON.stringify(said), { facts, tools: [] }),
    'test-model',
  );
  const shown = parts.map((part) =>
    part.kind === 'findings'
      ? findingsText(part, () => '2026-11-26 12:00:00 UTC')
      : 'text' in part && part.text,
  );
  const all = [title, ...shown, footer].join('\n');
  expect(all.length).toBeLessThanOrEqual(MAX_CHARACTERS);
  expect(all).toContain('Try first: Wait');
});
