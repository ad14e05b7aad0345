import { z } from 'zod';

/** What one pass took: a poll, and telling everything that it made. */
export interface WatchReading {
  /** The longest time in which the event loop did nothing else. */
  blockMs: number;
  /** The same without the time in which others had the core. */
  ownBlockMs: number;
  /** Of the whole process, the collection of garbage too. */
  cpuMs: number;
  writtenBytes: number;
  wallMs: number;
}

export const WatchReadings: z.ZodType<WatchReading[]> = z.array(
  z.object({
    blockMs: z.number(),
    ownBlockMs: z.number(),
    cpuMs: z.number(),
    writtenBytes: z.number(),
    wallMs: z.number(),
  }),
);
