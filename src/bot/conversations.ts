import { z } from 'zod';
import type { Store } from '../store/store.ts';
import { type Place, placeKey } from './platform.ts';

/** One question and its whole answer; they are remembered together or not at all. */
const Turn = z.object({ question: z.string(), answer: z.string(), atMs: z.number() });
export type Turn = z.infer<typeof Turn>;

const Conversation = z.object({ turns: z.array(Turn), changedAtMs: z.number() });
type Conversation = z.infer<typeof Conversation>;

/** What was said in each thread of ours. */
export interface Conversations {
  /** Makes the thread ours, so that what is said in it while its first answer comes is a question too. */
  open(key: string): Promise<void>;
  isOpen(key: string): Promise<boolean>;
  /** Oldest first; none for a thread that is not ours. */
  turns(key: string): Promise<Turn[]>;
  add(key: string, turn: Turn): Promise<void>;
  /** Forgets what was said; the thread stays ours. Resolves to how many turns that were. */
  forget(key: string): Promise<number>;
  /** Forgets conversations in which nothing was said for so long that nobody means them any more. */
  forgetOld(): Promise<void>;
}

const MAX_TURNS = 50;
/** Larger than the longest context (200,000 tokens at about four bytes each would be 800 KB, which nobody types). */
const MAX_BYTES = 512 * 1024;
const KEEP_MS = 90 * 86_400_000;

/** The key of a thread's conversation. */
export const conversationKey = (place: Place, thread: string) => `${placeKey(place)}:${thread}`;

/** Conversations in the store: the newest turns of each, kept for 90 days after the last. */
export function createConversations(
  store: Store,
  options: { nowMs?: () => number } = {},
): Conversations {
  const { nowMs = Date.now } = options;
  const collection = store.collection<Conversation>({
    name: 'conversations',
    schema: Conversation,
    version: 1,
    whenCorrupt: 'forget',
  });
  return {
    async open(key) {
      await collection.update(key, (current) => current ?? { turns: [], changedAtMs: nowMs() });
    },
    isOpen: async (key) => (await collection.get(key)) !== undefined,
    turns: async (key) => (await collection.get(key))?.turns ?? [],
    async add(key, turn) {
      await collection.update(key, (current) => ({
        turns: newest([...(current?.turns ?? []), turn]),
        changedAtMs: nowMs(),
      }));
    },
    async forget(key) {
      let turns = 0;
      await collection.update(key, (current) => {
        turns = current?.turns.length ?? 0;
        return current && { turns: [], changedAtMs: nowMs() };
      });
      return turns;
    },
    async forgetOld() {
      const isOld = ({ changedAtMs }: Conversation) => changedAtMs < nowMs() - KEEP_MS;
      for (const { id, document } of await collection.list()) {
        if (!isOld(document)) continue;
        await collection.update(id, (current) => (current && isOld(current) ? undefined : current));
      }
    },
  };
}

/** The last turns that fit the bounds; the very last always stays. */
function newest(turns: Turn[]): Turn[] {
  const kept: Turn[] = [];
  let bytes = 0;
  for (const turn of turns.slice(-MAX_TURNS).reverse()) {
    bytes += Buffer.byteLength(turn.question) + Buffer.byteLength(turn.answer);
    if (kept.length > 0 && bytes > MAX_BYTES) break;
    kept.unshift(turn);
  }
  return kept;
}
