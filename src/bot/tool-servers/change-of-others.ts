import { z } from 'zod';
import type { Card } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { mayManage } from '../shared/rights.ts';
import { type WriteContext, writingTool } from '../tools/tool.ts';

/** A proposed call of another server's tool. */
export const OtherDraft = z.object({
  server: z.string(),
  tool: z.string(),
  input: z.record(z.string(), z.unknown()),
  /** Fingerprint of the definition at the time of the proposal. */
  mark: z.string(),
});
export type OtherDraft = z.infer<typeof OtherDraft>;

/** Characters of an input: the card shows all of it, on every platform. */
const MAX_SHOWN = 2_500;

/** The proposal for any tool of another server. Its card and its effect depend only on the stored draft. */
export const changeOfOthers = (
  carryOut: (draft: OtherDraft, context: WriteContext) => Promise<Card>,
) =>
  writingTool({
    name: 'call_other_tool',
    title: 'Call a tool from another server',
    description: 'Calls a tool from another server that may change something there.',
    right: mayManage('use tools from other servers that change something'),
    // Unknown, so it is shown as dangerous.
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
    carryOut,
  });

/** Throws a `CommandError` if a card can't show the whole input. */
export function requireShown(input: Record<string, unknown>): void {
  const text = shownInput(input);
  // Platforms put a character between backticks.
  const length = text.length + (text.match(/`/g)?.length ?? 0);
  if (length > MAX_SHOWN) {
    throw new CommandError(
      `Not proposed: the input is too long for a card (${length} of ${MAX_SHOWN} characters), and the person must see all of it. Call again with a shorter input.`,
    );
  }
}

/** Characters that are invisible or look like a space. */
const UNSEEN = /(?!\n)[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** The input as JSON with all invisible characters escaped. */
function shownInput(input: Record<string, unknown>): string {
  return JSON.stringify(input, null, 2).replace(UNSEEN, (hidden) =>
    hidden.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}
