import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CollectionDeclaration, Store } from '../../store/store.ts';
import { Definition, fingerprint } from './definition.ts';

/** A tool's callable definition: the first one, or a later one that a person accepted. */
const Pin = z.object({
  tool: z.string(),
  definition: Definition,
  atMs: z.number(),
  /** The person who accepted it; absent for the first one. */
  by: z.string().optional(),
  /** A newer definition. The tool is off until someone accepts it. */
  changed: z.object({ definition: Definition, atMs: z.number() }).optional(),
});
export type Pin = z.infer<typeof Pin>;

const Pins = z.object({ pins: z.array(Pin) });
type Pins = z.infer<typeof Pins>;

/** Names of tools that differ from the last list. */
export interface PinChanges {
  seen: string[];
  changed: string[];
  back: string[];
}

export type PinStore = ReturnType<typeof createPins>;

/** One document per server, by its name. */
export const pinsCollection: CollectionDeclaration<Pins> = {
  name: 'tool-definitions',
  schema: Pins,
  version: 1,
  // Without its pins, a changed definition would count as the first one.
  whenCorrupt: 'refuse',
};

export function createPins(store: Store) {
  const collection = store.collection(pinsCollection);
  const pinsOf = async (server: string) => (await collection.get(server))?.pins ?? [];

  return {
    of: pinsOf,
    /** Compares a server's list with the stored definitions. Stores new tools, and marks changed ones. */
    async note(server: string, listed: ReadonlyMap<string, Definition>): Promise<PinChanges> {
      let news: PinChanges = { seen: [], changed: [], back: [] };
      const update = (current: Pins | undefined): Pins | undefined => {
        news = { seen: [], changed: [], back: [] };
        const pins = [...(current?.pins ?? [])];
        for (const [tool, definition] of listed) {
          const at = pins.findIndex((pin) => pin.tool === tool);
          const next = nextPin(pins[at], { tool, definition }, news);
          if (at === -1) pins.push(next);
          else pins[at] = next;
        }
        const isNew = Object.values(news).some((names) => names.length > 0);
        return isNew ? { pins } : current;
      };
      // Usually nothing has changed, and nothing is written.
      update({ pins: await pinsOf(server) });
      if (Object.values(news).some((names) => names.length > 0)) {
        await collection.update(server, update);
      }
      return news;
    },
    /** Accepts a change, if it is one of this server and still the newest. Resolves to its tool. */
    async accept(server: string, id: string, by: string): Promise<string | undefined> {
      let tool: string | undefined;
      await collection.update(server, (current) => {
        const pin = current?.pins.find((one) => changeId(server, one) === id);
        tool = pin?.tool;
        if (!current || !pin?.changed) return current;
        const { definition } = pin.changed;
        const accepted = { tool: pin.tool, definition, atMs: Date.now(), by };
        return { pins: current.pins.map((one) => (one === pin ? accepted : one)) };
      });
      return tool;
    },
  };
}

/** Identifies a change of a server's tool; `undefined` without a change. Pure. */
export function changeId(server: string, { tool, changed }: Pin): string | undefined {
  if (!changed) return undefined;
  const text = JSON.stringify([server, tool, fingerprint(changed.definition)]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** The pin after a list; adds the tool's name to `news` if anything changed. */
function nextPin(
  pin: Pin | undefined,
  { tool, definition }: { tool: string; definition: Definition },
  news: PinChanges,
): Pin {
  if (!pin) {
    news.seen.push(tool);
    return { tool, definition, atMs: Date.now() };
  }
  const mark = fingerprint(definition);
  if (fingerprint(pin.definition) === mark) {
    if (!pin.changed) return pin;
    news.back.push(tool);
    const { changed: _, ...same } = pin;
    return same;
  }
  if (pin.changed && fingerprint(pin.changed.definition) === mark) return pin;
  news.changed.push(tool);
  return { ...pin, changed: { definition, atMs: Date.now() } };
}
