import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Store } from '../../store/store.ts';
import { serviceOf } from '../commands/open-features.ts';
import { CommandError } from '../shared/errors.ts';
import type { Place } from '../shared/place.ts';
import type { Tool, ToolOffer } from '../tools/tool.ts';
import { changeOfOthers } from './change-of-others.ts';
import { KnownServer, type OtherServer, type ServerState } from './known-server.ts';
import { createPins } from './pins.ts';

/** Time between two lists of a server, and after its first failure. */
const REFRESH_MS = 5 * 60_000;
const RETRY_MS = 30_000;

/** Characters of JSON of all offered tools: a model reads them with every question. */
const MAX_OFFERED = 100_000;

export type OtherTools = ReturnType<typeof createOtherTools>;

export const otherToolsOf = serviceOf<OtherTools>('tool-servers');

/**
 * Tools from other people's MCP servers. A tool keeps its first definition until someone accepts a change; see `ToolState`.
 * Lists are read in the background, so no question waits for them.
 */
export function createOtherTools(options: {
  servers: readonly OtherServer[];
  store: Store;
  random?: () => number;
  log: Logger;
}) {
  const { store, random = Math.random, log } = options;
  const pins = createPins(store);
  const servers = options.servers.map((one) => new KnownServer(one, { pins, log }));
  const stopping = new AbortController();

  /** Does what a card showed, once. Throws a `CommandError` if nothing was sent. */
  const change = changeOfOthers(async (draft, context) => {
    const server = servers.find((one) => one.name === draft.server);
    if (!server || !context.place || !server.isFor(context.place)) {
      throw new CommandError(`${draft.server} is no longer set up here. Nothing was done.`);
    }
    return await server.carryOut(draft, context);
  });

  return {
    /** Starts to read the servers' lists. */
    start() {
      for (const server of servers) {
        void keepFresh(server, { signal: stopping.signal, random, log });
      }
    },
    /** The tools for a question in a place. Never throws, and waits for no server. */
    async offerIn(place: Place, options?: { byItself?: boolean }): Promise<ToolOffer> {
      const offer: ToolOffer = { tools: [], missing: [] };
      let left = MAX_OFFERED;
      for (const server of servers.filter((one) => one.isFor(place))) {
        const { tools, missing } = await offerOf(server, log, options);
        const size = tools.reduce((sum, one) => sum + sizeOf(one), 0);
        if (size > left) {
          offer.missing.push(`no room for the tools from ${server.name}`);
          continue;
        }
        left -= size;
        offer.tools.push(...tools);
        offer.missing.push(...missing);
      }
      return offer;
    },
    /** The tool of a proposal; names from servers have two underscores. */
    writingTool: (name: string) => (name.includes('__') ? change : undefined),
    states: async (): Promise<ServerState[]> =>
      await Promise.all(servers.map((server) => server.state())),
    /** Accepts a change for all processes; `undefined` if it is outdated. */
    async accept(id: string, by: string): Promise<{ server: string; tool: string } | undefined> {
      for (const { name } of servers) {
        const tool = await pins.accept(name, id, by);
        if (tool !== undefined) return { server: name, tool };
      }
      return undefined;
    },
    async stop() {
      stopping.abort();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

/** Reads a server's list now and from then on, until the signal aborts. */
async function keepFresh(
  server: KnownServer,
  { signal, random, log }: { signal: AbortSignal; random: () => number; log: Logger },
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      await server.refresh();
      failures = 0;
    } catch (error) {
      failures += 1;
      log.debug({ err: error, server: server.name }, "could not list a server's tools");
    }
    const ms = failures === 0 ? REFRESH_MS : Math.min(REFRESH_MS, RETRY_MS * 2 ** (failures - 1));
    // Spread, so that many servers aren't asked at once.
    await pause(ms * (0.9 + 0.2 * random()), undefined, { signal, ref: false }).catch(() => {});
  }
}

async function offerOf(
  server: KnownServer,
  log: Logger,
  options?: { byItself?: boolean },
): Promise<ToolOffer> {
  try {
    return await server.offer(options);
  } catch (error) {
    log.error({ err: error, server: server.name }, "could not offer a server's tools");
    return { tools: [], missing: [`tools from ${server.name} could not be loaded`] };
  }
}

const sizeOf = ({ name, description, inputSchema }: Tool) =>
  JSON.stringify([name, description, inputSchema]).length;
