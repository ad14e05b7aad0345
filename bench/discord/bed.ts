import { fileURLToPath } from 'node:url';
import { GatewayIntentBits } from 'discord.js';
import type { BucketLimit } from '../../test/fakes/discord/buckets.ts';
import { type DiscordFake, startDiscord } from '../../test/fakes/discord/discord.ts';
import type { FakeChannel, FakeMessage } from '../../test/fakes/discord/state.ts';
import { startModelProvider } from '../../test/fakes/model-provider.ts';
import { nowMs } from '../monitoring/arrivals.ts';
import type { AckBed } from '../shared/acks.ts';
import type { BenchContext } from '../shared/area.ts';
import { askwatchReady, startAskwatch, waitBeside } from '../shared/askwatch-process.ts';
import { INSPECT, inspectorPort } from '../shared/inspector.ts';
import { type AskedBed, createQuestions, markOf, type Question } from '../shared/questions.ts';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';

/** A program in a Discord of the bench. */
export interface DiscordGuest extends AckBed {
  discord: DiscordFake;
  /** The inspector's port, if it was requested. */
  port: number;
}

/** The program at work between a Discord and a gateway of the bench, which both answer at once. */
export interface DiscordBed extends DiscordGuest, AskedBed {
  /** Sends `/ask` in a new channel. */
  ask(options: { chunks: string[]; isPrivate?: boolean }): Promise<DiscordQuestion>;
  /** From the first text of each answer at the gateway to the request that shows it, milliseconds. */
  firstTextsMs(questions: readonly Question[]): number[];
  /** The message with the beginning of an answer. */
  messageOf(question: Question): FakeMessage;
}

/** A question, and the token of the command that asked it. */
export interface DiscordQuestion extends Question {
  token: string;
}

interface StartOptions {
  limit?: BucketLimit;
  /** Opens the inspector of the program. */
  inspect?: boolean;
}

// Beside this file in dist/bench/.
const REFERENCE = fileURLToPath(new URL('./discord-reference.js', import.meta.url));

const LIMIT_MS = 120_000;

async function openDiscord(limit?: BucketLimit) {
  let close = async () => {};
  const discord = await startDiscord({
    atEnd: (end) => {
      close = end;
    },
    limit,
  });
  return { discord, close: () => close() };
}

export async function startDiscordBed(
  context: BenchContext,
  { limit, inspect = false }: StartOptions = {},
): Promise<DiscordBed> {
  const { discord, close } = await openDiscord(limit);
  const provider = await startModelProvider();
  const platform = {
    ...{ DISCORD_TOKEN: discord.settings.token, DISCORD_API_URL: discord.api },
    DISCORD_GUILD_ID: discord.guildId,
  };
  const ready = inspect ? { nodeArgs: [INSPECT], ready: inspectorPort(askwatchReady) } : {};
  const server = await startAskwatch(context, { platform, provider, ...ready });
  const { pace, add, callOf } = createQuestions(provider);
  const guest = guestOf(discord, server);
  const { until } = guest;
  return {
    ...guest,
    ...{ pace, callOf },
    async ask({ chunks, isPrivate = false }) {
      const { number, text } = add(chunks);
      const channel = openChannel(discord, number);
      const values = { question: text, ...(isPrivate && { private: true }) };
      const { token } = discord.slash('ask', values, { channel });
      return { number, channel: channel.id, token };
    },
    messageOf: (question) => messageOf(discord, question),
    firstTextsMs: (questions) =>
      questions.map((question) => {
        const writtenAtMs = callOf(question)?.firstChunkAtMs ?? Number.NaN;
        return shownAtMs(discord, question) - (performance.timeOrigin + writtenAtMs);
      }),
    shown: (questions) =>
      until('whole answers', () => questions.every((question) => isWhole(discord, question))),
    async stop() {
      await server.stop();
      await Promise.all([close(), provider.close()]);
    },
  };
}

/** The bare client, with the command that is measured. */
export async function startReference(
  { cores }: BenchContext,
  { inspect = false }: StartOptions = {},
): Promise<DiscordGuest> {
  const { discord, close } = await openDiscord();
  const help = { id: discord.bot.id, name: 'help', type: 1 };
  const command = { id: discord.bot.id, name: 'askwatch', options: [help] };
  discord.commands.set(discord.guildId, [command]);
  const ready = 'connected, process (\\d+)\\.';
  const server = await startProcess({
    name: 'The bare client',
    args: [...(inspect ? [INSPECT] : []), REFERENCE, discord.api, discord.settings.token],
    ready: inspect ? inspectorPort(ready) : new RegExp(ready),
    core: cores.target,
  });
  const stop = async () => {
    await server.stop();
    await close();
  };
  return { ...guestOf(discord, server), stop };
}

function guestOf(discord: DiscordFake, server: TargetProcess) {
  const until = waitBeside(server, LIMIT_MS);
  const deferredAtMs = new Map<string, number>();
  let noted = 0;
  function isDeferred(id: string) {
    for (const { path, applied, atMs } of discord.requests.slice(noted)) {
      const [, of] = /^\/interactions\/(\d+)\//.exec(path) ?? [];
      if (of !== undefined && applied) deferredAtMs.set(of, atMs);
    }
    noted = discord.requests.length;
    return deferredAtMs.has(id);
  }
  return {
    ...{ discord, pid: server.pid, port: server.port, until },
    async command() {
      const sentMs = nowMs();
      const { id } = discord.slash('askwatch help');
      await until('a deferral', () => isDeferred(id));
      return (deferredAtMs.get(id) ?? Number.NaN) - sentMs;
    },
  };
}

function openChannel(discord: DiscordFake, number: number): FakeChannel {
  const channel = discord.addChannel({ name: `bench${number}` });
  discord.gateway.dispatch('CHANNEL_CREATE', channel, GatewayIntentBits.Guilds);
  return channel;
}

const findMessage = (discord: DiscordFake, question: Question) =>
  discord.messages().find(({ content }) => content.includes(markOf(question)));

function messageOf(discord: DiscordFake, question: Question): FakeMessage {
  const found = findMessage(discord, question);
  if (!found) throw new Error(`The answer to question ${question.number} was never shown.`);
  return found;
}

/** When Discord took the first text of an answer. */
function shownAtMs(discord: DiscordFake, question: Question): number {
  const shows = discord.requests.find(
    ({ applied, body }) => applied && String(body?.content).includes(markOf(question)),
  );
  if (!shows) throw new Error(`The answer to question ${question.number} was never shown.`);
  return shows.atMs;
}

/** The line below an answer that is whole. */
const FOOTER = /^-# /m;

function isWhole(discord: DiscordFake, question: Question): boolean {
  const first = findMessage(discord, question);
  return discord
    .messages()
    .some(({ channel_id, content }) => channel_id === first?.channel_id && FOOTER.test(content));
}
