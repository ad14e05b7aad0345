import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ListedTool } from '../../clients/tool-server-values.ts';

/** The parts of another server's tool that models and people rely on. */
export const Definition = z.object({
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  isReadOnly: z.boolean(),
  isDestructive: z.boolean(),
});
export type Definition = z.infer<typeof Definition>;

export const definitionIn = ({
  description,
  inputSchema,
  isReadOnly,
  isDestructive,
}: ListedTool): Definition => ({ description, inputSchema, isReadOnly, isDestructive });

/** Equal for equal definitions, whatever the order of their fields, and different for others. Pure. */
export function fingerprint({ description, inputSchema, isReadOnly, isDestructive }: Definition) {
  const text = JSON.stringify([description, inOrder(inputSchema), isReadOnly, isDestructive]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** JSON with sorted fields. */
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, inOrder(field)]));
}

/** Longest name of a function. Source: OpenAI API reference, "Create chat completion", `tools`. */
const MAX_NAME = 64;

/** The function name for models: `github__search`. Our own tools have no `__` in their names. Pure. */
export function functionName(server: string, tool: string): string {
  const name = `${server}__${tool}`;
  if (/^[\w-]+$/.test(name) && name.length <= MAX_NAME) return name;
  const mark = createHash('sha256').update(tool).digest('hex').slice(0, 6);
  return `${name.replace(/[^\w-]/g, '_').slice(0, MAX_NAME - 1 - mark.length)}_${mark}`;
}

export interface Difference {
  what: string;
  before: string;
  after: string;
}

/** Characters shown before and after a difference. */
const CONTEXT = 60;

/** The differences between two definitions as text; of long texts only the parts around a difference. Pure. */
export function differences(before: Definition, after: Definition): Difference[] {
  const words = ({ isReadOnly, isDestructive }: Definition) =>
    `${isReadOnly ? 'only reads' : 'makes changes'}${isDestructive ? ', may delete something' : ''}`;
  const all = [
    { what: 'Its description', before: before.description, after: after.description },
    { what: 'What it does', before: words(before), after: words(after) },
    {
      what: 'Its input',
      ...aroundDifference(schemaText(before.inputSchema), schemaText(after.inputSchema)),
    },
  ];
  return all.filter((one) => one.before !== one.after);
}

function schemaText(schema: Definition['inputSchema']): string {
  return JSON.stringify(inOrder(schema), null, 1);
}

/** Both texts without their common beginning and end, apart from a few characters. */
function aroundDifference(before: string, after: string): Pick<Difference, 'before' | 'after'> {
  if (before === after) return { before, after };
  const shortest = Math.min(before.length, after.length);
  let from = 0;
  while (from < shortest && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < shortest - from && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const part = (text: string) => {
    const [start, stop] = [
      Math.max(0, from - CONTEXT),
      Math.min(text.length, text.length - end + CONTEXT),
    ];
    return `${start > 0 ? '…' : ''}${text.slice(start, stop)}${stop < text.length ? '…' : ''}`;
  };
  return { before: part(before), after: part(after) };
}
