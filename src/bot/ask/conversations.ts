import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { CommandAnswer } from '../shared/invocation.ts';
import { type Around, QuotedMessage } from '../shared/people-messages.ts';
import { type GonePlaces, type Person, type Place, placeKey } from '../shared/place.ts';
import type { StoredHandling } from '../shared/seen-invocations.ts';
import { SharedFile } from '../shared/shared-file.ts';

/** The parts of a question that are stored, so that it can be asked again and understood later. */
export const KeptQuestion = z.object({
  question: z.string(),
  /** The model that the question names. */
  model: z.string().optional(),
  /** The messages that it is about. */
  about: z.array(QuotedMessage).optional(),
  /** Platform's id of the message that contains the question. */
  message: z.string().optional(),
  /** References to its files, without their contents. */
  files: z.array(SharedFile).optional(),
});
export type KeptQuestion = z.infer<typeof KeptQuestion>;

/** A question to `/ask`. */
export interface Question {
  handling: StoredHandling;
  question: string;
  files?: SharedFile[];
  /** A model of the catalog; the channel's or operator's default if absent. */
  model?: string;
  /** True if only the person who asks sees the answer. */
  private?: boolean;
  place: Place;
  person: Person;
  /** The messages that it is about. */
  about?: readonly QuotedMessage[];
  around?: Around;
  /** Platform's id of the message that asks, if `around` doesn't contain it. */
  message?: string;
  /** Id of the answer that this one replaces. */
  instead?: string;
  /** Id of the answer that must still be the thread's last when this one's turn comes. */
  last?: string;
  /** Changes the answer whose button was pressed. */
  earlier?: CommandAnswer['earlier'];
}

/** The parts of a question that are stored; `about` are the messages as they were found. */
export function keptQuestion(question: Question, about = question.about): KeptQuestion {
  const { model, files, around, message = around?.question } = question;
  return {
    question: question.question,
    model,
    files,
    message,
    about: about && about.length > 0 ? [...about] : undefined,
  };
}

/** One question and its whole answer; they are remembered together or not at all. */
/** Unix times of an answer, as far as they are known. */
export const AnswerTimes = z.object({
  askedAtMs: z.number().optional(),
  firstTextAtMs: z.number().optional(),
  wholeAtMs: z.number().optional(),
});

const Turn = KeptQuestion.extend({
  /** Id of the answer, for its buttons. */
  id: z.string().optional(),
  answer: z.string(),
  atMs: z.number(),
  generated: z.object({ model: z.string().optional(), times: AnswerTimes }).optional(),
});
export type Turn = z.infer<typeof Turn>;

/** The last question, if its answer broke off. */
const UnansweredQuestion = KeptQuestion.extend({
  id: z.string(),
  /** The answer that a new one replaces. */
  instead: z.string().optional(),
});
type UnansweredQuestion = z.infer<typeof UnansweredQuestion>;

const Conversation = z.object({
  turns: z.array(Turn),
  unanswered: UnansweredQuestion.optional(),
  /** People began the thread and talk to each other in it. */
  ofPeople: z.boolean().optional(),
  changedAtMs: z.number(),
});
type Conversation = z.infer<typeof Conversation>;

/** The memory of each thread. */
export type Conversations = ReturnType<typeof createConversations>;

const MAX_TURNS = 50;
/** Larger than the longest context: 200,000 tokens at about four bytes each would be 800 KB, which nobody types. */
const MAX_BYTES = 512 * 1024;
const KEEP_MS = 90 * 86_400_000;

/** The key of a thread's conversation. */
export const conversationKey = (place: Place, thread: string) => `${placeKey(place)}:${thread}`;

/** No platform has a channel with a colon in its name. */
const placeOfKey = (key: string) => key.split(':', 2).join(':');

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
     * Makes the thread ours, so that a message there is a question even before the first answer ends; not in a thread
     * `ofPeople`.
     */
    async open(key: string, { ofPeople }: { ofPeople?: boolean } = {}) {
      await collection.update(
        key,
        (current) =>
          current ?? { turns: [], ofPeople: ofPeople || undefined, changedAtMs: Date.now() },
      );
    },
    /** `undefined` for a thread without a question. */
    async stateOf(key: string): Promise<'ours' | 'of people' | undefined> {
      const conversation = await collection.get(key);
      return conversation && (conversation.ofPeople ? 'of people' : 'ours');
    },
    /** Oldest first. */
    turns: async (key: string) => (await collection.get(key))?.turns ?? [],
    /** Adds a turn, or replaces the one with the id `instead`. */
    async add(key: string, turn: Turn, instead?: string) {
      await collection.update(key, (current) => {
        const turns = current?.turns ?? [];
        const at = turns.findIndex(({ id }) => id !== undefined && id === instead);
        const changed = at === -1 ? [...turns, turn] : turns.with(at, turn);
        return { ofPeople: current?.ofPeople, turns: newest(changed), changedAtMs: Date.now() };
      });
    },
    /** Stores a question whose answer broke off. Models never read it. */
    async addUnanswered(key: string, unanswered: UnansweredQuestion) {
      await collection.update(key, (current) => ({
        ofPeople: current?.ofPeople,
        turns: current?.turns ?? [],
        unanswered,
        changedAtMs: Date.now(),
      }));
    },
    /** The last question, with the id of its answer. */
    async lastAsked(key: string) {
      const conversation = await collection.get(key);
      const { unanswered } = conversation ?? {};
      const last = unanswered ?? conversation?.turns.at(-1);
      return last && { id: last.id, asked: KeptQuestion.parse(last), instead: unanswered?.instead };
    },
    /** Deletes all turns; the thread stays ours. Resolves to the number of turns. */
    async forget(key: string) {
      let turns = 0;
      await collection.erase(key, (current) => {
        turns = current?.turns.length ?? 0;
        return current && { ofPeople: current.ofPeople, turns: [], changedAtMs: Date.now() };
      });
      return turns;
    },
    /** Deletes a conversation; the thread is no longer ours. */
    async remove(place: Place, thread: string) {
      await collection.update(conversationKey(place, thread), () => undefined);
    },
    /** Keys of places with a conversation. */
    places: async () => (await collection.list()).map(({ id }) => placeOfKey(id)),
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((key) => gone.has(placeOfKey(key))),
    async forgetOld() {
      const isOld = ({ changedAtMs }: Conversation) => changedAtMs < Date.now() - KEEP_MS;
      for (const { id, document } of await collection.list()) {
        if (!isOld(document)) continue;
        await collection.update(id, (current) => (current && isOld(current) ? undefined : current));
      }
    },
  };
}

/** The last turns within the limits. The very last is always kept. */
function newest(turns: Turn[]): Turn[] {
  const kept: Turn[] = [];
  let bytes = 0;
  for (const turn of turns.slice(-MAX_TURNS).reverse()) {
    bytes += Buffer.byteLength(JSON.stringify(turn));
    if (kept.length > 0 && bytes > MAX_BYTES) break;
    kept.unshift(turn);
  }
  return kept;
}
