import fc from 'fast-check';

import { describe, expect, test } from 'vitest';
import type { StatusIncident } from '../../../src/console/status/api-types.ts';
import { badge } from '../../../src/console/status/badge.ts';
import { atomFeed } from '../../../src/console/status/feed.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { get, startStatus } from '../../helpers/console/test-status.ts';
import { eventually } from '../../helpers/eventually.ts';
import { browser, inBrowser } from '../../helpers/in-browser.ts';
import { startService } from '../../helpers/monitoring/service.ts';

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

/** What a browser makes of XML: what is wrong with it, its elements, and the texts in them. */
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

const feedOf = (incidents: StatusIncident[], origin = 'https://status.example.com') =>
  atomFeed({ incidents, origin, emptySince: '2026-11-22T09:00:00.000Z' });

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
    const [all] = await parsed([feedOf(names.map((name) => incident(name)))]);
    expect(all?.error).toBeUndefined();
    expect(all?.elements).toEqual(['author', 'feed', 'name', ...ENTRY_ELEMENTS].sort());
    expect(all?.texts.entry).toHaveLength(names.length);
    expect(all?.texts.title).toContain('店舗監視 🛒 магазин was down for 5 minutes');
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

test('a badge is as wide as its characters, and says in words what it shows', () => {
  const widthOf = (name: string) => Number(/ width="(\d+)"/.exec(badge(name, 'UP'))?.[1]);
  expect(widthOf('WWWW')).toBeGreaterThan(widthOf('nnnn'));
  expect(widthOf('nnnn')).toBeGreaterThan(widthOf('iiii'));
  expect(widthOf('店舗監視')).toBeGreaterThan(widthOf('nnnn'));
  expect(widthOf('x'.repeat(10_000))).toBe(widthOf('x'.repeat(41)));
  expect(badge('Shop', 'DOWN')).toContain('role="img" aria-label="Shop: down"><title>Shop: down<');
});

describe('the routes of what others show', () => {
  test('a badge tells how a monitor is, and is sent again only when that is new', async () => {
    const service = await startMonitoringService({ limit: false });
    const { id } = service.add({ name: 'Shop & <Co>' });
    const { url } = await startStatus(service);
    const first = await get(`${url}/status/badge/${id}.svg`, {});
    expect(first.headers).toMatchObject({
      'content-type': 'image/svg+xml; charset=utf-8',
      'cache-control': 'private, max-age=30',
      vary: 'accept-encoding, cookie',
    });
    expect(first.text).toContain('aria-label="Shop &amp; &lt;Co&gt;: up"');
    const known = { 'if-none-match': `"other", ${first.headers.etag}` };
    expect(await get(`${url}/status/badge/${id}.svg`, known)).toMatchObject({
      status: 304,
      text: '',
    });
    service.setStatus(id, 'DOWN');
    await eventually(
      async () => (await get(`${url}/status/badge/${id}.svg`, known)).status === 200,
    );
    expect((await get(`${url}/status/badge.svg`, {})).text).toContain('aria-label="status: down"');
    expect((await get(`${url}/status/badge/none.svg`, {})).status).toBe(404);
    await service.close();
  });

  test('the feed tells incidents, leads to the address it was asked at, and has none of a bare service', async () => {
    const target = await startWebTarget();
    const service = await startService();
    const site = { name: 'Shop', check_type: 'HTTP', target: target.url };
    const { id } = await service.create({ ...site, config: { confirm_down: 1 } });
    await target.stop();
    await service.call('POST', `/api/v1/public/monitors/${id}/check`);
    await eventually(async () => {
      const { body } = await service.call('GET', '/api/v1/public/incidents', {
        key: await service.createKey(),
      });
      return (body.incidents as object[]).length === 1;
    });
    const { url } = await startStatus(
      { url: service.url, apiKey: service.key },
      { isPublic: true },
    );
    const feed = await get(`${url}/status/feed.xml`, {
      host: 'status.example.com',
      'x-forwarded-proto': 'https',
    });
    expect(feed.headers['content-type']).toBe('application/atom+xml; charset=utf-8');
    expect(feed.text).toContain('<title>Shop is down</title>');
    expect(feed.text).toContain(`href="http://status.example.com/status#/${id}"`);
    const known = { host: 'status.example.com', 'if-none-match': String(feed.headers.etag) };
    const again = { ...known, 'x-forwarded-proto': 'https' };
    expect((await get(`${url}/status/feed.xml`, again)).status).toBe(304);
    const strange = { host: 'a"onload="x' };
    expect((await get(`${url}/status/feed.xml`, strange)).text).toContain(`href="${url}/status"`);

    const bare = await startMonitoringService({ limit: false });
    const other = await startStatus(bare);
    const none = await get(`${other.url}/status/feed.xml`, {});
    expect(none.status).toBe(200);
    expect(none.text).not.toContain('<entry>');
    await bare.close();
  });
});
