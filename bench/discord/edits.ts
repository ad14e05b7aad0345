import { setTimeout as pause } from 'node:timers/promises';
import { COMMON_LIMIT } from '../../test/fakes/discord/buckets.ts';
import type { RestRequest } from '../../test/fakes/discord/http.ts';
import { rowOfOne } from '../gateway/chat-table.ts';
import type { BenchContext } from '../shared/area.ts';
import { type DiscordBed, type DiscordQuestion, startDiscordBed } from './bed.ts';

const SECONDS = { full: 60, quick: 15 };
const CHUNK_MS = 200;

/** Answers of so many characters in all: one that fits into a message, and one that needs several. */
const CASES = [
  { title: 'one message, in a thread', characters: 1_500, isPrivate: false },
  { title: 'several messages, in a thread', characters: 9_000, isPrivate: false },
  { title: 'one message, private', characters: 1_500, isPrivate: true },
];

/** The edits of an answer that takes long, written at the same time, at a Discord that limits them as it commonly does. */
export async function measureEdits(context: BenchContext): Promise<string[][]> {
  const seconds = SECONDS[context.quick ? 'quick' : 'full'];
  const bed = await startDiscordBed(context, { limit: COMMON_LIMIT });
  bed.pace(CHUNK_MS);
  const asked = await Promise.all(
    CASES.map(({ characters, isPrivate }) => {
      const chunks = (seconds * 1000) / CHUNK_MS - 1;
      const chunk = `${'x'.repeat(characters / (chunks + 1) - 1)} `;
      return bed.ask({ chunks: Array(chunks).fill(chunk), isPrivate });
    }),
  );
  await pause(seconds * 1000);
  await bed.shown(asked);
  const edits = asked.map((question) => editsOf(bed, question));
  const refused = bed.discord.requests.filter(({ status }) => status === 429).length;
  await bed.stop();
  const { requests, windowMs } = COMMON_LIMIT;
  const most = (seconds * 1000 * requests) / windowMs;
  return [
    ...CASES.map(({ title }, at) =>
      // Timers are late on a busy machine, and the answer then takes longer.
      rowOfOne(
        `edits in ${seconds} s, ${title}`,
        mostWithin(edits[at] ?? [], seconds * 1000),
        `<= ${most}`,
      ),
    ),
    rowOfOne(
      `most of them in ${windowMs / 1000} s`,
      Math.max(...edits.map((of) => mostWithin(of, windowMs))),
      `<= ${requests}`,
    ),
    rowOfOne('429s, all three', refused, '0'),
  ];
}

/** Whatever the outcome: Discord counts a refused one too. */
function editsOf({ discord, messageOf }: DiscordBed, question: DiscordQuestion): RestRequest[] {
  const channel = `/channels/${messageOf(question).channel_id}/`;
  return discord.requests.filter(
    ({ method, path }) =>
      method === 'PATCH' && (path.startsWith(channel) || path.includes(question.token)),
  );
}

/** The most that came in any time so long. */
function mostWithin(requests: readonly RestRequest[], windowMs: number): number {
  const counts = requests.map(
    ({ atMs: fromMs }) =>
      requests.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + windowMs).length,
  );
  return Math.max(0, ...counts);
}
