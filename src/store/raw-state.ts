import { z } from 'zod';
import { StateMovedError } from './errors.ts';

/** All that an engine keeps, as it is stored and without what the program makes of it: for moving it to another engine. */
export interface RawState {
  /** Where it is, for people. */
  readonly place: string;
  /** What to do where something else is in it. */
  readonly howToEmpty: string;
  /** Every engine has the same parts. */
  readonly parts: readonly StatePart[];
  /** Aborts when others may use it again. */
  readonly lost: AbortSignal;
  mark(): Promise<StateMark | undefined>;
  /** Durable when it resolves. */
  setMark(mark: StateMark | undefined): Promise<void>;
  close(): Promise<void>;
}

/**
 * One kind of state, such as documents. It is divided into groups, each of which is copied, compared and, after a kill, begun
 * again as one.
 */
export interface StatePart {
  /** What it holds, in the plural. */
  name: string;
  /** The groups that are not empty. */
  groups(): Promise<string[]>;
  /** The items of a group in their order, as texts. The same state has the same texts in every engine. */
  read(group: string): AsyncIterable<string>;
  /** Makes these all that the group has; durable when it resolves. */
  replace(group: string, items: AsyncIterable<string>): Promise<void>;
}

/**
 * A part that the files keep in journals and documents, and another engine in tables of its own. The room that writes those
 * journals knows how to read them.
 */
export interface FolderPart {
  /** Journals and collections that no other part moves. */
  journals: readonly string[];
  collections: readonly string[];
  in(folder: RawFolder): StatePart;
}

/** Journals and documents of a data folder, as they are stored. */
export interface RawFolder {
  /** The days of which a journal has records, such as `2026-12-01`. */
  days(journal: string): Promise<string[]>;
  records(journal: string, day: string): AsyncIterable<unknown>;
  /** Makes these all records of the day; durable when it resolves. */
  replaceRecords(journal: string, day: string, records: AsyncIterable<unknown>): Promise<void>;
  ids(collection: string): Promise<string[]>;
  document(collection: string, id: string): Promise<unknown>;
  /** Durable when it resolves; `undefined` removes it. */
  putDocument(
    collection: string,
    content: { id: string; version: number; document: unknown },
  ): Promise<void>;
}

/** What state says of itself that the program must not use. */
export type StateMark = z.infer<typeof StateMark>;
export const StateMark = z.discriminatedUnion('state', [
  /** A copy that is not finished. */
  z.strictObject({ state: z.literal('copying'), from: z.string() }),
  /** It lives elsewhere now. */
  z.strictObject({ state: z.literal('moved'), to: z.string(), atMs: z.int() }),
]);

/** What to do to use the other engine, and to go on with a copy to this one. */
export interface MoveAdvice {
  useOther: string;
  goOn: string;
  howToEmpty: string;
}

/** Throws `StateMovedError` when state is marked. */
export function assertNotMarked(place: string, mark: StateMark | undefined, advice: MoveAdvice) {
  if (mark === undefined) return;
  const { useOther, goOn, howToEmpty } = advice;
  if (mark.state === 'moved') {
    const day = new Date(mark.atMs).toISOString().slice(0, 10);
    throw new StateMovedError(
      `The state in ${place} was moved to ${mark.to} on ${day}. To use it, ${useOther}.`,
    );
  }
  throw new StateMovedError(
    `${capitalized(place)} holds an unfinished copy of ${mark.from}. Finish it with: ${goOn}. To discard it instead: ${howToEmpty}.`,
  );
}

/** As it stands at the beginning of a sentence. */
export const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
