import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createTools } from '../../src/mcp/tools.ts';

test('The page on MCP names every tool that is offered, and no other', () => {
  const page = readFileSync(new URL('../../docs/mcp.md', import.meta.url), 'utf8');
  const offered = page.split('## What it offers\n')[1]?.split(/^## /m)[0] ?? '';
  const cells = [...offered.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(named.sort()).toEqual(
    createTools({ writes: true, hasBot: true }).names().split(', ').sort(),
  );
});
