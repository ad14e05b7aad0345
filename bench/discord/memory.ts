import { GatewayIntentBits } from 'discord.js';
import type { BenchContext } from '../shared/area.ts';
import type { Finding, Goal } from '../shared/finding.ts';
import { heapAfterCollection } from '../shared/inspector.ts';
import { residentMiB } from '../shared/proc.ts';
import { type DiscordGuest, startDiscordBed, startReference } from './bed.ts';
import { guildOfUsualSize } from './guilds.ts';

const FEW = 100;
const MANY = { full: 1_100, quick: 300 };

/** Commands per batch, because the bench buffers unread ones. */
const BATCH = 50;

const MIB = 2 ** 20;

interface Grown {
  fewMiB: number;
  manyMiB: number;
  residentMiB: number;
}

/** Heap after garbage collection, with few and with many servers, beside a bare client. */
export async function measureMemory(context: BenchContext): Promise<Finding[]> {
  const many = MANY[context.quick ? 'quick' : 'full'];
  const askwatch = await grow(await startDiscordBed(context, { inspect: true }), many);
  const bare = await grow(await startReference(context, { inspect: true }), many);
  const per = ({ fewMiB, manyMiB }: Grown) => ((manyMiB - fewMiB) * 100) / (many - FEW);
  const found = (
    name: string,
    title: string,
    of: (grown: Grown) => number,
    goal?: Goal,
  ): Finding => ({
    ...{ name, title, unit: 'MiB', compare: 'itself', goal },
    passes: [{ askwatch: of(askwatch), reference: of(bare) }],
  });
  return [
    found('heap-few', `heap, ${FEW} servers`, ({ fewMiB }) => fewMiB),
    found('heap-many', `heap, ${many} servers`, ({ manyMiB }) => manyMiB),
    found('heap-each', 'heap per 100 servers', per, { atMost: 10 }),
    found('memory-many', `memory, ${many} servers`, (grown) => grown.residentMiB),
  ];
}

async function grow(guest: DiscordGuest, many: number): Promise<Grown> {
  await join(guest, FEW);
  const fewMiB = (await heapAfterCollection(guest.port)).usedBytes / MIB;
  await join(guest, many - FEW);
  const manyMiB = (await heapAfterCollection(guest.port)).usedBytes / MIB;
  const grown = { fewMiB, manyMiB, residentMiB: residentMiB(guest.pid) };
  await guest.stop();
  return grown;
}

/** Adds the bot to so many servers; discord.js keeps those it joins as it keeps those it was in. */
async function join({ discord, command }: DiscordGuest, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const guild = guildOfUsualSize(at, discord.bot.id);
    discord.gateway.dispatch('GUILD_CREATE', guild, GatewayIntentBits.Guilds);
    // Commands are answered in order, so this one marks the end of the batch.
    if (at % BATCH === BATCH - 1 || at === count - 1) await command();
  }
}
