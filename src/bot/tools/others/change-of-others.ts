import { z } from 'zod';
import { CommandError } from '../../shared/errors.ts';
import type { Right } from '../../shared/rights.ts';
import { writingTool } from '../tool.ts';

/** What a call of somebody else's tool would send, as a card shows it. */
export const OtherDraft = z.object({
  server: z.string(),
  tool: z.string(),
  input: z.record(z.string(), z.unknown()),
  /** Of the definition by which it was proposed. */
  mark: z.string(),
});
export type OtherDraft = z.infer<typeof OtherDraft>;

/** Where what it changes is everybody's. */
const right: Right = {
  setting: 'mayManage',
  over: 'shared',
  to: 'use tools from other servers that change something',
};

/** Longest input that is proposed: all of it stands on the card, on every platform. */
const MAX_SHOWN = 2_500;

/** What is proposed for whatever tool of another server: its card and what it does come from what is stored alone. */
export const changeOfOthers = writingTool({
  name: 'call_other_tool',
  title: 'Call a tool from another server',
  description: 'Calls a tool from another server that may change something there.',
  right,
  // Nobody knows whether it can be had back.
  isDestructive: true,
  input: z.looseObject({}),
  draft: OtherDraft,
  prepare() {
    throw new Error('This is offered only as a tool from a server.');
  },
  summary: ({ server, tool, input }) => ({
    title: `Call ${tool} from ${server}?`,
    facts: [
      { label: 'Server', value: server },
      { label: 'Tool', value: tool },
    ],
    code: shownInput(input),
    confirm: 'Call',
  }),
  async carryOut(draft, context) {
    if (!context.others) throw new CommandError('No tools from other servers are set up here.');
    return await context.others.carryOut(draft, context);
  },
});

/** Throws a `CommandError` where a card would not show all of it. */
export function requireShown(input: Record<string, unknown>): void {
  const text = shownInput(input);
  // A platform keeps backticks apart with something between them.
  const length = text.length + (text.match(/`/g)?.length ?? 0);
  if (length > MAX_SHOWN) {
    throw new CommandError(
      `Not proposed: the input is too long for a card (${length} of ${MAX_SHOWN} characters), and the person must see all of it. Call again with a shorter input.`,
    );
  }
}

/** What no reader sees, or sees as a space. */
const UNSEEN = /(?!\n)[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** The input as JSON in which everything can be seen. */
function shownInput(input: Record<string, unknown>): string {
  return JSON.stringify(input, null, 2).replace(UNSEEN, (hidden) =>
    hidden.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}
