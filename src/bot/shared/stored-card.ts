import { z } from 'zod';
import { type Card, type CardAction, TONES } from './card.ts';

const Fact = z.object({
  label: z.string(),
  value: z.union([
    z.string(),
    z.object({ atMs: z.number() }),
    z.object({ text: z.string(), url: z.string() }),
  ]),
});

const FindingItem = z.object({
  atMs: z.number().optional(),
  text: z.string(),
  url: z.string().optional(),
});

const Chart = z.object({
  kind: z.literal('chart'),
  title: z.string(),
  unit: z.string(),
  points: z.array(z.object({ atMs: z.number(), value: z.number().nullable() })),
  stepMs: z.number(),
  outages: z.array(z.object({ fromMs: z.number(), toMs: z.number() })),
  zone: z.string().optional(),
  text: z.string(),
});

/** A card that is kept until its place has it: one that only tells, without buttons. */
export const StoredCard: z.ZodType<Pick<Card, 'tone' | 'title' | 'parts' | 'footer'>> = z.object({
  tone: z.enum(Object.keys(TONES) as [Card['tone'], ...Card['tone'][]]),
  title: z.string(),
  parts: z.array(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('text'), text: z.string() }),
      z.object({ kind: z.literal('facts'), facts: z.array(Fact) }),
      z.object({
        kind: z.literal('table'),
        columns: z.array(z.string()),
        rows: z.array(z.array(z.string())),
      }),
      z.object({
        kind: z.literal('findings'),
        heading: z.string().optional(),
        items: z.array(FindingItem),
      }),
      Chart,
    ]),
  ),
  footer: z.string().optional(),
});

export const StoredAction: z.ZodType<CardAction> = z.object({
  label: z.string(),
  style: z.enum(['primary', 'danger']).optional(),
  command: z.string(),
  values: z.record(z.string(), z.string()),
});
