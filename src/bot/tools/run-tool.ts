import { z } from 'zod';
import { CommandError } from '../shared/errors.ts';
import type { Account, ReadingTool, Tool, ToolContext } from './tool.ts';

/** Complaints about one input that are told. */
const MAX_PROBLEMS = 5;

/** What a tool gave. */
export interface ToolResult {
  output: Record<string, unknown>;
  account: Account;
}

/** What inputs are checked by: to make one takes longer than to check most inputs. */
const strictInputs = new WeakMap<Tool, z.ZodObject>();

function strictInput(tool: Tool): z.ZodObject {
  const made = strictInputs.get(tool) ?? (tool.schema ? tool.input : tool.input.strict());
  strictInputs.set(tool, made);
  return made;
}

/** A tool's input as it takes it. Throws a `CommandError` that says what is wrong with it. */
export function checkToolInput(tool: Tool, input: unknown): Record<string, unknown> {
  const checked = strictInput(tool).safeParse(input);
  if (checked.success) return checked.data;
  const problems = checked.error.issues
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => `${path.join('.') || 'the input'}: ${message}`);
  throw new CommandError(`Invalid input for ${tool.name}: ${problems.join('; ')}.`);
}

/** Runs a tool that reads over input that is checked. Throws what its `run` throws. */
export async function runTool(
  tool: ReadingTool,
  input: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolResult> {
  // What it gives is what it says that it gives: a field that is not declared reaches nobody.
  const output = tool.output.parse(await tool.run(input, context));
  return { output, account: tool.account(output, input) };
}

/** The schema of a tool's input as JSON. */
export function inputSchema({ input, schema: own }: Tool): Record<string, unknown> {
  if (own) return own;
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' });
  return schema;
}
