import type { CommandAnswer } from '../shared/invocation.ts';
import type { Person, Place } from '../shared/place.ts';

/** A question, as `/ask` takes it. */
export interface Question {
  question: string;
  /** A model of the catalog; the operator's default when undefined. */
  model: string | undefined;
  private: boolean;
  place: Place;
  person: Person;
  /** The answer that this one takes the place of, by its id. */
  instead?: string;
  /** The answer that has to be the last of the thread still when the turn of this one has come. */
  last?: string;
  /** What becomes of the answer whose button was pressed. */
  earlier?: CommandAnswer['earlier'];
}
