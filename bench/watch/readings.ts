import { z } from 'zod';

/** Figures of one pass: a poll, and the delivery of its alerts. */
export interface WatchReading {
  /** The longest time in which the event loop did nothing else. */
  blockMs: number;
  /** `blockMs` without the time in which other processes used the core. */
  ownBlockMs: number;
  /** CPU of the whole process, including garbage collection. */
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
