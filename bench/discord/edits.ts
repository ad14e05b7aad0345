import { setTimeout as pause } from 'node:timers/promises';
import { COMMON_LIMIT } from '../../test/fakes/discord/buckets.ts';
import type { RestRequest } from '../../test/fakes/discord/http.ts';
import type { BenchContext } from '../shared/area.ts';
import { type Finding, findingOfOne } from '../shared/finding.ts';
import { type DiscordBed, type DiscordQuestion, startDiscordBed } from './bed.ts';

const SECONDS = { full: 60, quick: 15 };
const CHUNK_MS = 200;

/** Answers of so many characters in all: one that fits into a message, and one that needs several. */
const CASES = [
  { name: 'thread', title: 'one message, in a thread', characters: 1_500, isPrivate: false },
  { name: 'several', title: 'several messages, in a thread', characters: 9_000, isPrivate: false },
  { name: 'private', title: 'one message, private', characters: 1_500, isPrivate: true },
];

/** The edits of an answer that takes long, written at the same time, at a Discord that limits them as it commonly does. */
export async function measureEdits(context: BenchContext): Promise<Finding[]> {
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
    ...CASES.map(({ name, title }, at) =>
      // Timers are late on a busy machine, and the answer then takes longer.
      found(
        { name: `edits-${name}`, title: `edits in ${seconds} s, ${title}`, atMost: most },
        mostWithin(edits[at] ?? [], seconds * 1000),
      ),
    ),
    found(
      {
        ...{ name: 'edits-burst', title: `most of them in ${windowMs / 1000} s` },
        atMost: requests,
      },
      Math.max(...edits.map((of) => mostWithin(of, windowMs))),
    ),
    found({ name: 'edits-refused', title: '429s, all three', atMost: 0 }, refused),
  ];
}

const found = (
  { name, title, atMost }: { name: string; title: string; atMost: number },
  count: number,
) => findingOfOne({ name, title, unit: '', goal: { atMost } }, count);

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
