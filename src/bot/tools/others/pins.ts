import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CollectionDeclaration, Store } from '../../../store/store.ts';
import { Definition, fingerprint } from './definition.ts';

/** A tool of a server as it was seen at first, or accepted later: only so it is called. */
const Pin = z.object({
  tool: z.string(),
  definition: Definition,
  atMs: z.number(),
  /** Who accepted it; absent when it was seen at first. */
  by: z.string().optional(),
  /** What it has become since: it is off until somebody accepts that. */
  changed: z.object({ definition: Definition, atMs: z.number() }).optional(),
});
export type Pin = z.infer<typeof Pin>;

const Pins = z.object({ pins: z.array(Pin) });
type Pins = z.infer<typeof Pins>;

/** What a look at a server has brought, by names of tools. */
export interface News {
  seen: string[];
  changed: string[];
  back: string[];
}

/** The definitions by which tools of others are called, kept for all processes. */
export type PinStore = ReturnType<typeof createPins>;

/** Those of a server stand under its name. */
export const pinsCollection: CollectionDeclaration<Pins> = {
  name: 'tool-definitions',
  schema: Pins,
  version: 1,
  // Forgotten, a changed definition would be taken for one that is seen at first.
  whenCorrupt: 'refuse',
};

export function createPins(store: Store) {
  const collection = store.collection(pinsCollection);
  const pinsOf = async (server: string) => (await collection.get(server))?.pins ?? [];

  return {
    of: pinsOf,
    /** Compares what a server lists with what is kept: what is new is kept, and what has changed noted. */
    async note(server: string, listed: ReadonlyMap<string, Definition>): Promise<News> {
      let news: News = { seen: [], changed: [], back: [] };
      const update = (current: Pins | undefined): Pins | undefined => {
        news = { seen: [], changed: [], back: [] };
        const pins = [...(current?.pins ?? [])];
        for (const [tool, definition] of listed) {
          const at = pins.findIndex((pin) => pin.tool === tool);
          const next = noted(pins[at], { tool, definition }, news);
          if (at === -1) pins.push(next);
          else pins[at] = next;
        }
        const isNew = Object.values(news).some((names) => names.length > 0);
        return isNew ? { pins } : current;
      };
      // Most looks bring nothing, and nothing is written then.
      update({ pins: await pinsOf(server) });
      if (Object.values(news).some((names) => names.length > 0)) {
        await collection.update(server, update);
      }
      return news;
    },
    /** Accepts the change of this id, if it is one of this server and still the newest; resolves to its tool. */
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

/** The same for the same change of a tool of a server, and for no other; `undefined` where there is none. Pure. */
export function changeId(server: string, { tool, changed }: Pin): string | undefined {
  if (!changed) return undefined;
  const text = JSON.stringify([server, tool, fingerprint(changed.definition)]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** A pin after a look, which is told in `news` where it brought anything. */
function noted(
  pin: Pin | undefined,
  { tool, definition }: { tool: string; definition: Definition },
  news: News,
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
