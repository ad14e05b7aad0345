import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { type Card, type CardPart, codePart, compact, factsPart } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';
import { tools } from './registry.ts';
import type { WritingTool } from './tool.ts';

/** Time to confirm a proposal. */
export const OPEN_MS = 10 * 60_000;

/** Late presses are explained for this long. */
const KEEP_MS = 86_400_000;

/**
 * A change that was proposed to a person:
 *
 * - open, for ten minutes. A new try of its answer replaces it.
 * - begun, if its tool must not run twice: a second Confirm is refused even if the first one failed.
 * - ended: confirmed or cancelled, by its person.
 * - expired, after ten minutes. A day later it is deleted.
 */
const Proposal = z.object({
  /** Name of the tool, and the change as its schema `draft` describes it. */
  tool: z.string(),
  draft: z.record(z.string(), z.unknown()),
  /** Id of the answer that shows it. */
  answer: z.string(),
  place: z.string(),
  /** Id of the person who asked. */
  person: z.string(),
  atMs: z.number(),
  /** True if only that person sees it. */
  private: z.boolean(),
  /** Only of tools that must not run twice. */
  begunAtMs: z.number().optional(),
  end: z.object({ as: z.enum(['confirmed', 'cancelled']), by: z.string() }).optional(),
});
export type Proposal = z.infer<typeof Proposal>;

/** A change before it is stored. */
export interface Proposed {
  tool: WritingTool;
  draft: Record<string, unknown>;
}

export type Proposals = ReturnType<typeof createProposals>;

export function createProposals(store: Store) {
  const collection = store.collection<Proposal>({
    name: 'proposals',
    schema: Proposal,
    version: 1,
    whenCorrupt: 'forget',
  });

  /** Open proposals, oldest first. */
  async function ofAnswer(answer: string) {
    const all = await collection.list();
    const open = all.filter(({ document }) => document.answer === answer && isOpen(document));
    return open.sort((a, b) => a.document.atMs - b.document.atMs || (a.id < b.id ? -1 : 1));
  }

  return {
    /** Stores the proposals of an answer and deletes an earlier try's. Resolves to their cards. */
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
    /** Marks a proposal as begun; false if it was before. */
    async begin(id: string): Promise<boolean> {
      let isFirst = false;
      await collection.update(id, (current) => {
        isFirst = current !== undefined && current.begunAtMs === undefined;
        return current && isFirst ? { ...current, begunAtMs: Date.now() } : current;
      });
      return isFirst;
    },
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

export const isOpen = ({ end, atMs }: Proposal) => !end && atMs > Date.now() - OPEN_MS;

/** A tool that changes something; `undefined` if this version has none of this name. */
export function writingTool(name: string): WritingTool | undefined {
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

/** The confirmation card. It depends only on the stored draft. */
export function proposalCard(id: string, tool: WritingTool, draft: Record<string, unknown>): Card {
  const { title, facts, code, confirm, actions = [] } = tool.summary(draft);
  const values = { proposal: id };
  return {
    tone: tool.isDestructive ? 'warning' : 'info',
    title,
    parts: compact<CardPart>(factsPart(...facts), code !== undefined && codePart(code)),
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
