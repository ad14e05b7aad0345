import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { AnswerTimes } from '../feedback/feedback.ts';
import { QuotedMessage } from '../shared/people-messages.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';
import { SharedFile } from '../shared/shared-file.ts';

/** A question, as far as it is kept to be asked again and to be understood later. */
export const KeptQuestion = z.object({
  question: z.string(),
  /** The model that was asked for by name. */
  model: z.string().optional(),
  /** The messages that it is about. */
  about: z.array(QuotedMessage).optional(),
  /** The message that asked, by the platform's own id. */
  message: z.string().optional(),
  /** What came with it: where that is found, and nothing of what is in it. */
  files: z.array(SharedFile).optional(),
});
export type KeptQuestion = z.infer<typeof KeptQuestion>;

/** One question and its whole answer; they are remembered together or not at all. */
const Turn = KeptQuestion.extend({
  /** Of the answer, for its buttons. */
  id: z.string().optional(),
  answer: z.string(),
  atMs: z.number(),
  /** The model that answered, and when. */
  generated: z.object({ model: z.string().optional(), times: AnswerTimes }).optional(),
  /** What people think of the answer, by their ids: of a version that kept that here. */
  ratings: z.record(z.string(), z.enum(['good', 'bad'])).optional(),
});
export type Turn = z.infer<typeof Turn>;

/** The last question, when its answer is not whole. */
const Unanswered = KeptQuestion.extend({
  id: z.string(),
  /** The answer that a whole one takes the place of. */
  instead: z.string().optional(),
});
type Unanswered = z.infer<typeof Unanswered>;

const Conversation = z.object({
  turns: z.array(Turn),
  unanswered: Unanswered.optional(),
  /** People began its thread, in which they talk to each other, too. */
  ofPeople: z.boolean().optional(),
  changedAtMs: z.number(),
});
type Conversation = z.infer<typeof Conversation>;

/** What was said in each thread of ours. */
export type Conversations = ReturnType<typeof createConversations>;

const MAX_TURNS = 50;
/** Larger than the longest context (200,000 tokens at about four bytes each would be 800 KB, which nobody types). */
const MAX_BYTES = 512 * 1024;
const KEEP_MS = 90 * 86_400_000;

/** The key of a thread's conversation. */
export const conversationKey = (place: Place, thread: string) => `${placeKey(place)}:${thread}`;

/** The place of a conversation, in its one-word form: no platform has a channel with a colon in its name. */
const placeOfKey = (key: string) => key.split(':', 2).join(':');

/** The place and the thread of a conversation. */
export const threadOfKey = (key: string) => {
  const place = placeOfKey(key);
  return { place, thread: key.slice(place.length + 1) };
};

/** Conversations in the store: the newest turns of each, kept for 90 days after the last. */
export function createConversations(store: Store) {
  const collection = store.collection<Conversation>({
    name: 'conversations',
    schema: Conversation,
    version: 1,
    whenCorrupt: 'forget',
  });
  return {
    /**
     * Makes the thread ours, so that what is said in it while its first answer comes is a question too; not so in one
     * `ofPeople`.
     */
    async open(key: string, { ofPeople = false } = {}) {
      await collection.update(
        key,
        (current) =>
          current ?? { turns: [], ...(ofPeople && { ofPeople }), changedAtMs: Date.now() },
      );
    },
    /** Whether a thread is one of ours, or one of people in which something was asked. */
    async stateOf(key: string): Promise<'ours' | 'of people' | undefined> {
      const conversation = await collection.get(key);
      return conversation && (conversation.ofPeople ? 'of people' : 'ours');
    },
    /** Oldest first; none for a thread that is not ours. */
    turns: async (key: string) => (await collection.get(key))?.turns ?? [],
    /** Adds a turn, in the place of the answer with the id `instead` where that is remembered. */
    async add(key: string, turn: Turn, instead?: string) {
      await collection.update(key, (current) => {
        const turns = current?.turns ?? [];
        const at = turns.findIndex(({ id }) => id !== undefined && id === instead);
        const after = at === -1 ? [...turns, turn] : turns.with(at, turn);
        return { ...keptOf(current), turns: newest(after), changedAtMs: Date.now() };
      });
    },
    /** Notes a question whose answer is not whole; nothing of it is told to a model. */
    async addUnanswered(key: string, unanswered: Unanswered) {
      await collection.update(key, (current) => ({
        ...keptOf(current),
        turns: current?.turns ?? [],
        unanswered,
        changedAtMs: Date.now(),
      }));
    },
    /** What was asked last, with the id of its answer. */
    async lastAsked(key: string) {
      const conversation = await collection.get(key);
      const { unanswered } = conversation ?? {};
      const last = unanswered ?? conversation?.turns.at(-1);
      return last && { id: last.id, asked: KeptQuestion.parse(last), instead: unanswered?.instead };
    },
    /** Moves the ratings that an older version kept here to where `move` keeps them. */
    async moveRatings(move: (key: string, turn: RatedTurn) => Promise<void>) {
      for (const { id: key, document } of await collection.list()) {
        const rated = document.turns.filter(isRated);
        if (rated.length === 0) continue;
        for (const turn of rated) await move(key, turn);
        await collection.update(key, (current) => {
          const turns = current?.turns.map(({ ratings: _, ...turn }) => turn);
          return current && turns && { ...current, turns };
        });
      }
    },
    /** Forgets what was said; the thread stays ours. Resolves to how many turns that were. */
    async forget(key: string) {
      let turns = 0;
      await collection.erase(key, (current) => {
        turns = current?.turns.length ?? 0;
        return current && { ...keptOf(current), turns: [], changedAtMs: Date.now() };
      });
      return turns;
    },
    /** Forgets a conversation that was deleted, and that it was ours. */
    async remove(place: Place, thread: string) {
      await collection.update(conversationKey(place, thread), () => undefined);
    },
    /** Places with a conversation, in their one-word form. */
    places: async () => (await collection.list()).map(({ id }) => placeOfKey(id)),
    /** The same for all conversations of places that are gone. */
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((key) => gone.has(placeOfKey(key))),
    /** Forgets conversations in which nothing was said for so long that nobody means them any more. */
    async forgetOld() {
      const isOld = ({ changedAtMs }: Conversation) => changedAtMs < Date.now() - KEEP_MS;
      for (const { id, document } of await collection.list()) {
        if (!isOld(document)) continue;
        await collection.update(id, (current) => (current && isOld(current) ? undefined : current));
      }
    },
  };
}

/** What stays of a conversation whatever becomes of its turns. */
const keptOf = (conversation: Conversation | undefined) =>
  conversation?.ofPeople ? { ofPeople: true } : {};
/** A turn with ratings that are kept in it. */
export type RatedTurn = Turn & { id: string; ratings: NonNullable<Turn['ratings']> };

const isRated = (turn: Turn): turn is RatedTurn =>
  turn.id !== undefined && turn.ratings !== undefined;

/** The last turns that fit the bounds; the very last always stays. */
function newest(turns: Turn[]): Turn[] {
  const kept: Turn[] = [];
  let bytes = 0;
  for (const turn of turns.slice(-MAX_TURNS).reverse()) {
    bytes += Buffer.byteLength(turn.question) + Buffer.byteLength(turn.answer);
    const { about, files } = turn;
    if (about || files) bytes += Buffer.byteLength(JSON.stringify({ about, files }));
    if (kept.length > 0 && bytes > MAX_BYTES) break;
    kept.unshift(turn);
  }
  return kept;
}
