import { GatewayIntentBits } from 'discord.js';
import { rowOfOne } from '../gateway/chat-table.ts';
import type { BenchContext } from '../shared/area.ts';
import { heapAfterCollection } from '../shared/inspector.ts';
import { residentMiB } from '../shared/proc.ts';
import { type DiscordGuest, startDiscordBed, startReference } from './bed.ts';
import { guildOfUsualSize } from './guilds.ts';

const FEW = 100;
const MANY = { full: 1_100, quick: 300 };

/** So many at a time: the bench holds what is not read yet. */
const BATCH = 50;

const MIB = 2 ** 20;

interface Grown {
  fewMiB: number;
  manyMiB: number;
  residentMiB: number;
}

/** The heap of the program in few servers and in many, after garbage collection, beside that of the bare client. */
export async function measureMemory(context: BenchContext): Promise<string[][]> {
  const many = MANY[context.quick ? 'quick' : 'full'];
  const askwatch = await grow(await startDiscordBed(context, { inspect: true }), many);
  const bare = await grow(await startReference(context, { inspect: true }), many);
  const per = ({ fewMiB, manyMiB }: Grown) => ((manyMiB - fewMiB) * 100) / (many - FEW);
  return [
    rowOfOne(`heap, ${FEW} servers, MiB`, askwatch.fewMiB),
    rowOfOne(`heap, ${many} servers, MiB`, askwatch.manyMiB),
    rowOfOne('heap per 100 servers, MiB', per(askwatch), '< 10'),
    rowOfOne('heap per 100 servers, bare client, MiB', per(bare)),
    rowOfOne(`memory, ${many} servers, MiB`, askwatch.residentMiB),
    rowOfOne(`memory, ${many} servers, bare client, MiB`, bare.residentMiB),
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
    // What comes after them is answered after them.
    if (at % BATCH === BATCH - 1 || at === count - 1) await command();
  }
}
