import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { Card } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';
import { changeOfOthers } from './others/change-of-others.ts';
import { tools } from './registry.ts';
import type { WritingTool } from './tool.ts';

/** How long a proposal can be confirmed. */
export const OPEN_MS = 10 * 60_000;

/** How long it is known that it was, for presses that come late. */
const KEEP_MS = 86_400_000;

/** A change that was proposed to a person. */
const Proposal = z.object({
  /** The name of the tool that would do it, and what it would do. */
  tool: z.string(),
  draft: z.record(z.string(), z.unknown()),
  /** The answer under which it is shown. */
  answer: z.string(),
  place: z.string(),
  /** Who asked for it. */
  person: z.string(),
  atMs: z.number(),
  /** Whether only they see it. */
  private: z.boolean(),
  /** When it was begun to be done, for what must not be done twice. */
  begunAtMs: z.number().optional(),
  /** What became of it. */
  end: z.object({ as: z.enum(['confirmed', 'cancelled']), by: z.string() }).optional(),
});
export type Proposal = z.infer<typeof Proposal>;

/** What is proposed, before it is kept. */
export interface Proposed {
  tool: WritingTool;
  draft: Record<string, unknown>;
}

/** What waits for a person's Confirm. */
export type Proposals = ReturnType<typeof createProposals>;

export function createProposals(store: Store) {
  const collection = store.collection<Proposal>({
    name: 'proposals',
    schema: Proposal,
    version: 1,
    whenCorrupt: 'forget',
  });

  /** As long as they can be confirmed, oldest first. */
  async function ofAnswer(answer: string) {
    const all = await collection.list();
    const own = all.filter(({ document }) => document.answer === answer && isOpen(document));
    return own.sort((a, b) => a.document.atMs - b.document.atMs || (a.id < b.id ? -1 : 1));
  }

  return {
    /** Keeps what was proposed in an answer, in place of what another try of it proposed; resolves to their cards. */
    async keep(
      proposed: readonly Proposed[],
      of: Pick<Proposal, 'answer' | 'person' | 'private'> & { place: Place },
    ): Promise<Card[]> {
      for (const { id } of await ofAnswer(of.answer)) await collection.update(id, () => undefined);
      const cards: Card[] = [];
      for (const [at, { tool, draft }] of proposed.entries()) {
        const id = `${at}${randomBytes(9).toString('base64url')}`;
        const proposal = { ...of, place: placeKey(of.place), tool: tool.name, draft };
        await collection.update(id, () => ({ ...proposal, atMs: Date.now() }));
        cards.push(proposalCard(id, tool, draft));
      }
      return cards;
    },
    get: (id: string) => collection.get(id),
    /** Notes that one begins to be done; false where it was noted before. */
    async begin(id: string): Promise<boolean> {
      let isFirst = false;
      await collection.update(id, (current) => {
        isFirst = current !== undefined && current.begunAtMs === undefined;
        return current && isFirst ? { ...current, begunAtMs: Date.now() } : current;
      });
      return isFirst;
    },
    /** Keeps what became of one. */
    async end(id: string, end: NonNullable<Proposal['end']>) {
      await collection.update(id, (current) => current && { ...current, end });
    },
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((_, { place }) => gone.has(place)),
    async forgetOld() {
      const isOld = ({ atMs }: Proposal) => atMs < Date.now() - KEEP_MS;
      await collection.eraseAll((_, proposal) => isOld(proposal));
    },
  };
}

/** Whether it waits for somebody still. */
export const isOpen = ({ end, atMs }: Proposal) => !end && atMs > Date.now() - OPEN_MS;

/** The tool of a proposal; none of a version that had another one. */
export function writingTool({ tool: name }: Pick<Proposal, 'tool'>): WritingTool | undefined {
  if (name.includes('__')) return changeOfOthers;
  const tool = tools.find((one) => one.name === name);
  return tool?.access === 'writes' ? tool : undefined;
}

/** The longest value that every platform shows whole: Discord's field takes 1,024 characters. */
const MAX_SHOWN_VALUE = 900;

/** Throws a `CommandError` for a proposal whose card would be cut: nobody can confirm what they don't see. */
export function assertShownWhole(tool: WritingTool, draft: Record<string, unknown>): void {
  for (const { label, value } of tool.summary(draft).facts) {
    if (typeof value !== 'string' || value.length <= MAX_SHOWN_VALUE) continue;
    throw new CommandError(
      `${label} has ${value.length} characters, but a confirmation card shows only ${MAX_SHOWN_VALUE}. Shorten it, or set it over the API.`,
    );
  }
}

/** What a person reads before they confirm it: made from what is stored, and from nothing else. */
export function proposalCard(id: string, tool: WritingTool, draft: Record<string, unknown>): Card {
  const { title, facts, code, confirm, actions = [] } = tool.summary(draft);
  const values = { proposal: id };
  return {
    tone: tool.isDestructive ? 'warning' : 'info',
    title,
    parts: [
      { kind: 'facts', facts },
      ...(code === undefined ? [] : [{ kind: 'code', text: code } as const]),
    ],
    footer: 'Nothing has changed yet. Only the person who asked can confirm, within 10 minutes.',
    actions: [
      {
        label: confirm,
        style: tool.isDestructive ? 'danger' : 'primary',
        command: 'proposal confirm',
        values,
      },
      ...actions,
      { label: 'Cancel', command: 'proposal cancel', values },
    ],
  };
}
