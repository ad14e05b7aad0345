import { z } from 'zod';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { inPlace } from '../shared/invocation.ts';
import { requireRight } from '../shared/rights.ts';
import { shortened } from '../shared/text-format.ts';
import { isOpen, OPEN_MS, writingTool } from '../tools/proposals.ts';
import { type Call, type Command, command, requiredText } from './command.ts';

const input = z.object({
  proposal: requiredText(40, 'The proposal above the button'),
});

/** Confirm or Cancel, for the person who asked. The first press of the two decides. */
const button = (declaration: Pick<Command<typeof input>, 'name' | 'summary' | 'run'>) =>
  command({
    ...declaration,
    right: 'anyone',
    input,
    once: ({ proposal }) => ({
      key: `proposal ${proposal}`,
      keepMs: OPEN_MS,
      shown: 'It has been decided.',
    }),
  });

const EXPIRED =
  'This proposal has expired: proposals wait 10 minutes. Nothing was done. Ask again.';

const BEGUN =
  'This was started before and interrupted, so it is unclear whether it was done. Check there before you ask again.';

/** Throws a `CommandError` if this person can't decide. */
async function openProposal(id: string, call: Call) {
  const proposal = await call.proposals.get(id);
  const tool = proposal && writingToolOf(proposal.tool, call);
  if (!proposal || !tool) throw new CommandError(EXPIRED);
  if (proposal.person !== call.person.id) {
    throw new CommandError('Only the person who asked for this can decide. Ask for it yourself.');
  }
  if (proposal.end) throw new CommandError(`${proposal.end.by} already ${proposal.end.as} this.`);
  if (!isOpen(proposal)) throw new CommandError(EXPIRED);
  if (tool.right !== 'anyone') await requireRight(tool.right, call);
  return { tool, draft: tool.draft.parse(proposal.draft), isPrivate: proposal.private };
}

/** The tool of a proposal; `undefined` if this version has no such tool. */
const writingToolOf = (name: string, { features }: Call) =>
  features.first((one) => one.writingTool?.(name)) ?? writingTool(name);

const confirm = button({
  name: 'proposal confirm',
  summary: 'Confirm what a card proposes',
  async run({ proposal: id }, call) {
    const { tool, draft, isPrivate } = await openProposal(id, call);
    const { invocation, settings, proposals } = call;
    const by = shortened(call.person.name, 80);
    // A second try after a crash repeats nothing: a creation has a key, `begin` guards calls of other servers, and the rest has
    // the same result.
    const card = await tool.carryOut(draft, {
      ...call,
      alertPlaces: settings.alertPlaces,
      thread: invocation.thread,
      nowMs: Date.now(),
      signal: new AbortController().signal,
      idempotencyKey: `proposal-${id}`,
      async begin() {
        if (!(await proposals.begin(id))) throw new CommandError(BEGUN);
      },
    });
    await proposals.end(id, { as: 'confirmed', by });
    return inPlace({ ...card, footer: `Confirmed by ${by}` }, isPrivate);
  },
});

const cancel = button({
  name: 'proposal cancel',
  summary: 'Cancel what a card proposes',
  async run({ proposal: id }, call) {
    const { tool, draft, isPrivate } = await openProposal(id, call);
    const by = shortened(call.person.name, 80);
    await call.proposals.end(id, { as: 'cancelled', by });
    const card = textCard('info', tool.summary(draft).title, 'Nothing was done.');
    return inPlace({ ...card, footer: `Cancelled by ${by}` }, isPrivate);
  },
});

export const proposalActions = [confirm, cancel];
