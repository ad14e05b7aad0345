import { readFileSync } from 'node:fs';

const page = readFileSync(new URL('../../../docs/hello-world.md', import.meta.url), 'utf8');

/** The first fenced block of that language in docs/hello-world.md. */
export function blockOf(language: string): string {
  const block = page.match(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms'))?.[1];
  if (block === undefined) throw new Error(`docs/hello-world.md has no ${language} block.`);
  return block;
}

/** Lines that the page adds to commands.ts, each with the line that it comes after. */
export function linesToAdd(): Array<{ after: string; line: string }> {
  const lines = blockOf('diff').split('\n');
  return lines.flatMap((line, index) =>
    line.startsWith('+') ? [{ after: lines[index - 1]?.slice(1) ?? '', line: line.slice(1) }] : [],
  );
}
