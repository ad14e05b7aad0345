import { expect, test } from 'vitest';
import { z } from 'zod';
import { startGateway } from '../helpers/gateway/running-gateway.ts';
import { runningServer } from '../helpers/http/running-server.ts';
import { startService } from '../helpers/monitoring/service.ts';

interface ApiDocument {
  paths: Record<string, Record<string, { operationId: string }>>;
  components: { schemas: object };
}

const API = {
  gateway: async () => (await startGateway()).url,
  monitoring: async () => (await startService()).url,
};

test.each(Object.entries(API))(
  'shows every request and type of the %s API, and no broken link',
  async (_name, start) => {
    const url = await start();
    const page = await (await fetch(`${url}/docs`)).text();
    const { paths, components } = (await (
      await fetch(`${url}/openapi.json`)
    ).json()) as ApiDocument;
    const operations = Object.values(paths).flatMap((methods) =>
      Object.entries(methods).flatMap(([method, { operationId }]) =>
        method === 'head' ? [] : operationId,
      ),
    );
    const ids = [...page.matchAll(/id="([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toEqual([...operations, ...Object.keys(components.schemas)]);
    for (const path of Object.keys(paths)) expect(page).toContain(` ${path}</a>`);
    const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(targets.filter((id) => !ids.includes(id))).toEqual([]);
  },
);

test('needs no script and loads nothing', async () => {
  const { ask } = await runningServer();
  const { headers, text } = await ask('/docs');
  expect(headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; /,
  );
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(text).not.toMatch(/<script|<img|<link|src=|url\(|@import/);
});

test('writes a schema like a type, and shows what it is told as text', async () => {
  const { ask } = await runningServer(({ server }) => {
    const body = z.object({
      kind: z.enum(['<a>', 'b']),
      many: z.array(z.string()).optional().describe('Up to `n` of "these".'),
      either: z.union([z.number(), z.null()]),
      notes: z.record(z.string(), z.string()),
    });
    const schema = {
      operationId: 'tell',
      summary: 'Tell <b>',
      tags: ['test'],
      body,
      components: { Told: body },
    };
    server.post('/tell', { schema, handler: () => 'x' });
  });
  const { text } = await ask('/docs');
  expect(text).toContain('Tell &#60;b&#62;');
  expect(text).toContain('<li>Body: <code><a href="#Told">Told</a></code>');
  const [type] = /<h3 id="Told">.*?<\/pre>/s.exec(text) ?? [];
  expect(type?.split('\n').map((line) => line.trim())).toEqual([
    '<h3 id="Told">Told</h3><pre>{',
    'kind: &#34;&#60;a&#62;&#34; | &#34;b&#34;',
    'many?: Array&lt;string&gt; Up to <code>n</code> of &#34;these&#34;.',
    'either: number | null',
    'notes: Record&lt;string, string&gt;',
    '}</pre>',
  ]);
});
