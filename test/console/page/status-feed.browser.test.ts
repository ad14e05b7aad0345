import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StatusIncident, StatusMaintenance } from '../../../src/console/status/api-types.ts';
import { badge } from '../../../src/console/status/badge.ts';
import { atomFeed } from '../../../src/console/status/feed.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';

// A browser is the XML parser that badges and feeds end in.

const HOSTILE = [
  '</title><script>alert(1)</script>',
  '"><image href="https://evil.example/x.png"/>',
  "' onload='alert(1)",
  ']]><![CDATA[',
  '&amp;&lt;&#0;&undefined;',
  '<!ENTITY x SYSTEM "file:///etc/passwd">',
  'a\u0000b\u0007c\u001b\ufffe\uffff',
  `half a pair \ud800 and \udc00`,
  '\u202egnihton si erehT',
  '店舗監視 🛒 магазин',
  ' ',
  'x'.repeat(10_000),
  `${'x'.repeat(38)}🛒🛒🛒`,
];

interface Parsed {
  error: string | undefined;
  elements: string[];
  texts: Record<string, string[]>;
}

/** Parses XML as browsers do: its error, its elements, and their texts. */
async function parsed(xml: readonly string[]): Promise<Parsed[]> {
  if (!browser) throw new Error('There is no browser.');
  const page = await browser.newPage();
  try {
    return await page.evaluate(
      (documents) =>
        documents.map((text) => {
          const read = new DOMParser().parseFromString(text, 'application/xml');
          const all = [...read.querySelectorAll('*')];
          const texts: Record<string, string[]> = {};
          for (const { localName, textContent } of all) {
            texts[localName] = [...(texts[localName] ?? []), textContent ?? ''];
          }
          return {
            error: read.querySelector('parsererror')?.textContent ?? undefined,
            elements: [...new Set(all.map(({ localName }) => localName))].sort(),
            texts,
          };
        }),
      xml,
    );
  } finally {
    await page.close();
  }
}

const incident = (name: string, more: Partial<StatusIncident> = {}): StatusIncident => ({
  id: `mon_1:${name}`,
  monitor: `mon ${name}`,
  name,
  started_at: '2026-11-22T10:00:00.000Z',
  ended_at: '2026-11-22T10:05:00.000Z',
  cause: name,
  outcome: 'timeout',
  ended_as: 'UP',
  ...more,
});

const feedOf = (
  incidents: StatusIncident[],
  {
    planned = [],
    now = '2026-11-22T12:00:00Z',
  }: { planned?: StatusMaintenance[]; now?: string } = {},
) =>
  atomFeed({
    ...{ incidents, planned, origin: 'https://status.example.com' },
    emptySince: '2026-11-22T09:00:00.000Z',
    nowMs: Date.parse(now),
  });

const window = (name: string): StatusMaintenance => ({
  ...{ starts_at: '2026-11-28T01:00:00.000Z', ends_at: '2026-11-28T03:00:00.000Z' },
  ...{ timezone: 'Europe/Berlin', monitors: [{ id: `mon ${name}`, name }], more: 0, reason: name },
});

const BADGE_ELEMENTS = ['clipPath', 'g', 'rect', 'svg', 'text', 'title'];
const ENTRY_ELEMENTS = ['content', 'entry', 'id', 'link', 'published', 'title', 'updated'];

inBrowser('what others show of the status page', () => {
  test('a badge of any name is well-formed and holds nothing but itself', async () => {
    const names = [...HOSTILE, ...fc.sample(fc.string({ unit: anyCharacter }), 200)];
    const badges = await parsed(names.flatMap((name) => [badge(name, 'UP'), badge('x', name)]));
    for (const { error, elements } of badges) {
      expect(error).toBeUndefined();
      expect(elements).toEqual(BADGE_ELEMENTS);
    }
  });

  test('a feed of any names is well-formed and holds nothing but its entries', async () => {
    const names = [...HOSTILE, ...fc.sample(fc.string({ unit: anyCharacter }), 200)];
    const planned = names.map(window);
    const [all] = await parsed([
      feedOf(
        names.map((name) => incident(name)),
        { planned },
      ),
    ]);
    expect(all?.error).toBeUndefined();
    expect(all?.elements).toEqual(['author', 'feed', 'name', ...ENTRY_ELEMENTS].sort());
    expect(all?.texts.entry).toHaveLength(2 * names.length);
    expect(all?.texts.title).toContain('店舗監視 🛒 магазин was down for 5 minutes');
  });

  test('maintenance is told beforehand and while it goes on, as one entry that has never been written in time to come', async () => {
    const planned = [{ ...window('Shop'), more: 2 }];
    const [before, during] = await parsed([
      feedOf([], { planned }),
      feedOf([], { planned, now: '2026-11-28T02:00:00Z' }),
    ]);
    expect(before?.texts.title?.[1]).toBe(
      'Planned maintenance: Shop and 2 more, Sat 28 Nov 02:00–04:00 (Europe/Berlin)',
    );
    expect(during?.texts.title?.[1]).toBe(
      'Maintenance: Shop and 2 more, until 04:00 (Europe/Berlin)',
    );
    expect(before?.texts.id).toEqual(during?.texts.id);
    expect(before?.texts.updated).toEqual(Array(2).fill('2026-11-21T01:00:00.000Z'));
    expect(during?.texts.updated).toEqual(Array(2).fill('2026-11-28T01:00:00.000Z'));
  });

  test('an entry keeps its id when the outage ends, and is updated then', async () => {
    const open = incident('Shop', { ended_at: null, ended_as: null });
    const [before, after, none] = await parsed([
      feedOf([open]),
      feedOf([incident('Shop')]),
      feedOf([]),
    ]);
    expect(before?.texts.id).toEqual(after?.texts.id);
    expect(before?.texts.updated).toEqual(['2026-11-22T10:00:00.000Z', '2026-11-22T10:00:00.000Z']);
    expect(after?.texts.updated).toEqual(['2026-11-22T10:05:00.000Z', '2026-11-22T10:05:00.000Z']);
    expect(before?.texts.title?.[1]).toBe('Shop is down');
    expect(none?.error).toBeUndefined();
  });
});
