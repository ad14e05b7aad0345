import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readCatalog } from '../../../src/gateway/catalog/catalog.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

async function catalogFile(content: unknown): Promise<string> {
  const file = join(await temporaryFolder(), 'catalog.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const text = { id: 'mine', kind: 'text', context_length: 1000 };

describe('the catalog', () => {
  test('can be the operator’s own', async () => {
    const file = await catalogFile({
      models: [{ ...text, upstreams: [{ provider: 'openai', model: 'gpt-6-luna' }] }],
    });
    expect((await readCatalog(file)).models).toEqual([
      {
        ...text,
        input: ['text'],
        created: expect.any(Number),
        upstreams: [{ provider: 'openai', model: 'gpt-6-luna' }],
      },
    ]);
  });

  const bad: Array<[string, unknown, RegExp]> = [
    ['not JSON', '{', /JSON/],
    ['no list', {}, /models: /],
    ['no text model', { models: [] }, /models: needs at least one text model/],
    ['an id twice', { models: [text, text] }, /models\.1\.id: 'mine' is listed twice/],
    [
      'a wrong size',
      { models: [{ ...text, context_length: '8K' }] },
      /models\.0\.context_length: /,
    ],
    ['a misspelt field', { models: [{ ...text, contextLength: 1 }] }, /models\.0: .*contextLength/],
    [
      'an unknown provider',
      { models: [{ ...text, upstreams: [{ provider: 'acme', model: 'm' }] }] },
      /models\.0\.upstreams\.0\.provider: .*openai/,
    ],
    ['an unknown kind', { models: [{ ...text, kind: 'sound' }] }, /models\.0\.kind: /],
  ];
  test.each(bad)('with %s is refused by file and field', async (_name, content, problem) => {
    const file = await catalogFile(content);
    const error = await readCatalog(file).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toContain(`The catalog ${file} cannot be used: `);
    expect((error as Error).message).toMatch(problem);
  });

  test('A missing catalog is refused with its name', async () => {
    await expect(readCatalog('/nowhere/catalog.json')).rejects.toThrow(
      /The catalog \/nowhere\/catalog\.json cannot be used: ENOENT/,
    );
  });
});
