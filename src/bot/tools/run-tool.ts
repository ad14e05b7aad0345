import { CommandError } from '../shared/errors.ts';
import type { ReadingTool, Tool, ToolAccount, ToolContext } from './tool.ts';

/** Problems of one input that are named. */
const MAX_PROBLEMS = 5;

export interface ToolResult {
  output: Record<string, unknown>;
  account: ToolAccount;
}

/** Checks a tool's input. Throws a `CommandError` that names the problems. */
export function checkToolInput(tool: Tool, input: unknown): Record<string, unknown> {
  const checked = tool.input.safeParse(input);
  if (checked.success) return checked.data;
  const problems = checked.error.issues
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => `${path.join('.') || 'the input'}: ${message}`);
  throw new CommandError(`Invalid input for ${tool.name}: ${problems.join('; ')}.`);
}

/** Runs a reading tool over checked input. Throws what its `run` throws. */
export async function runTool(
  tool: ReadingTool,
  input: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolResult> {
  // Fields that aren't declared are dropped.
  const output = tool.output.parse(await tool.run(input, context));
  return { output, account: tool.account(output, input) };
}
