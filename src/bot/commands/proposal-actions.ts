import { z } from 'zod';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { inPlace } from '../shared/invocation.ts';
import { requireRight } from '../shared/rights.ts';
import { shortened } from '../shared/text-format.ts';
import { isOpen, OPEN_MS, writingTool } from '../tools/proposals.ts';
import { type Call, command, type Once, requiredText } from './command.ts';

const input = z.object({
  proposal: requiredText(40, 'The proposal the button stands under'),
});
type Input = z.output<typeof input>;

/** Whatever is pressed of the two, and by whom, one press decides. */
const once = ({ proposal }: Input): Once => ({
  key: `proposal ${proposal}`,
  keepMs: OPEN_MS,
  shown: 'It is decided.',
});

const TOO_OLD =
  'This is too old to be confirmed: a proposal waits for 10 minutes. Ask again, and nothing was done.';

const BEGUN =
  'This was begun before and interrupted, so nobody knows whether it was done. Look there before you ask for it again.';

/** The proposal, what it would do, and the tool that does it. Throws a `CommandError` where the person may not decide. */
async function decidable({ proposal: id }: Input, call: Call) {
  const found = await call.proposals.get(id);
  const tool = found && writingTool(found);
  if (!found || !tool) throw new CommandError(TOO_OLD);
  if (found.person !== call.person.id) {
    throw new CommandError('Only whoever asked for this can decide. Ask for it yourself.');
  }
  if (found.end) throw new CommandError(`${found.end.by} ${found.end.as} this already.`);
  if (!isOpen(found)) throw new CommandError(TOO_OLD);
  if (tool.right !== 'anyone') await requireRight(tool.right, call);
  return { id, tool, draft: tool.draft.parse(found.draft), isPrivate: found.private };
}

const confirm = command({
  name: 'proposal confirm',
  summary: 'Do what a card proposes',
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
  summary: 'Leave undone what a card proposes',
  right: 'anyone',
  input,
  once,
  async run(asked, call) {
    const { id, tool, draft, isPrivate } = await decidable(asked, call);
    const by = shortened(call.person.name, 80);
    await call.proposals.end(id, { as: 'cancelled', by });
    const card = textCard('info', tool.summary(draft).title, 'Cancelled: nothing was done.');
    return inPlace({ ...card, footer: `Cancelled by ${by}` }, isPrivate);
  },
});

/** What the buttons under a proposal do; nobody types these. */
export const proposalActions = [confirm, cancel];
