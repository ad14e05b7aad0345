import { z } from 'zod';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { inPlace } from '../shared/invocation.ts';
import { requireRight } from '../shared/rights.ts';
import { shortened } from '../shared/text-format.ts';
import { isOpen, OPEN_MS, writingTool } from '../tools/proposals.ts';
import { type Call, command, type Once, requiredText } from './command.ts';

const input = z.object({
  proposal: requiredText(40, 'The proposal above the button'),
});
type Input = z.output<typeof input>;

/** Whatever is pressed of the two, and by whom, one press decides. */
const once = ({ proposal }: Input): Once => ({
  key: `proposal ${proposal}`,
  keepMs: OPEN_MS,
  shown: 'It has been decided.',
});

const TOO_OLD =
  'This proposal has expired: proposals wait 10 minutes. Nothing was done. Ask again.';

const BEGUN =
  'This was started before and interrupted, so it is unclear whether it was done. Check there before you ask again.';

/** The proposal, what it would do, and the tool that does it. Throws a `CommandError` where the person may not decide. */
async function decidable({ proposal: id }: Input, call: Call) {
  const found = await call.proposals.get(id);
  const tool = found && writingTool(found);
  if (!found || !tool) throw new CommandError(TOO_OLD);
  if (found.person !== call.person.id) {
    throw new CommandError('Only the person who asked for this can decide. Ask for it yourself.');
  }
  if (found.end) throw new CommandError(`${found.end.by} already ${found.end.as} this.`);
  if (!isOpen(found)) throw new CommandError(TOO_OLD);
  if (tool.right !== 'anyone') await requireRight(tool.right, call);
  return { id, tool, draft: tool.draft.parse(found.draft), isPrivate: found.private };
}

const confirm = command({
  name: 'proposal confirm',
  summary: 'Confirm what a card proposes',
  right: 'anyone',
  input,
  once,
  async run(asked, call) {
    const { id, tool, draft, isPrivate } = await decidable(asked, call);
    const { invocation, settings, proposals } = call;
    const by = shortened(call.person.name, 80);
    // A second try after a crash does nothing twice: what is created has a key, a note is kept once, what others do is begun once,
    // and the rest is so already.
    const card = await tool.carryOut(draft, {
      ...call,
      alertPlaces: settings.alertPlaces,
      thread: invocation.thread,
      nowMs: Date.now(),
      signal: new AbortController().signal,
      others: call.otherTools,
      idempotencyKey: `proposal-${id}`,
      async begin() {
        if (!(await proposals.begin(id))) throw new CommandError(BEGUN);
      },
    });
    await proposals.end(id, { as: 'confirmed', by });
    return inPlace({ ...card, footer: `Confirmed by ${by}` }, isPrivate);
  },
});

const cancel = command({
  name: 'proposal cancel',
  summary: 'Cancel what a card proposes',
  right: 'anyone',
  input,
  once,
  async run(asked, call) {
    const { id, tool, draft, isPrivate } = await decidable(asked, call);
    const by = shortened(call.person.name, 80);
    await call.proposals.end(id, { as: 'cancelled', by });
    const card = textCard('info', tool.summary(draft).title, 'Nothing was done.');
    return inPlace({ ...card, footer: `Cancelled by ${by}` }, isPrivate);
  },
});

/** What the buttons under a proposal do; nobody types these. */
export const proposalActions = [confirm, cancel];
