import { z } from 'zod';

/** The part of all state that holds the large ones that change a little at a time. */
export const STATES_PART = 'states';

/**
 * What is moved of one: the item that holds the rest, and then each with its place, its key and that of the item that it is
 * inside, as an engine with tables keeps them.
 */
export const StateText = z.union([
  z.object({ rest: z.unknown() }),
  z.tuple([z.int(), z.string(), z.string().nullable(), z.unknown()]),
]);
