import type { Finding, Goal } from '../shared/finding.ts';
import type { Reading } from '../shared/reading.ts';
import { largeBody, MODEL, smallBody } from './requests.ts';

/** A kind of load. */
export interface Cell {
  connections: number;
  body: string;
  stream: boolean;
  /** The upstream alone is measured too. */
  alone?: true;
  staggerMs?: number;
  windowMs: number;
  settleMs?: number;
}

/** Loads that one start of a target goes through, in this order. */
export interface Group {
  /** Answers to the first body that go before, so that all code is compiled even where others take the cores. */
  warmUpAnswers: number;
  cells: Record<string, Cell>;
}

const small = { body: smallBody({ model: MODEL.flatOut, stream: false }), stream: false };
const large = { body: largeBody({ model: MODEL.flatOut, stream: false }), stream: false };
const flatOut = { body: smallBody({ model: MODEL.flatOut, stream: true }), stream: true };
const paced = { body: smallBody({ model: MODEL.paced, stream: true }), stream: true };

/** Each group has a target of its own, so that no load is measured in the heap that another one left. */
export const GROUPS: Record<string, Group> = {
  plain: {
    warmUpAnswers: 4_000,
    cells: {
      one: { ...small, connections: 1, alone: true, windowMs: 1_500 },
      many: { ...small, connections: 32, windowMs: 2_000 },
      crowd: { ...small, connections: 256, windowMs: 2_000, settleMs: 500 },
    },
  },
  streams: {
    warmUpAnswers: 1_500,
    cells: {
      flatOut: { ...flatOut, connections: 32, windowMs: 2_000 },
      // A stream takes 0.3 s: begun at equal distances, they stay apart.
      paced: { ...paced, connections: 32, alone: true, staggerMs: 9, windowMs: 2_000 },
    },
  },
  large: {
    // Fewer leave much of it uncompiled, and the pass-through answers thousands in the same time.
    warmUpAnswers: 2_500,
    cells: { large: { ...large, connections: 32, windowMs: 2_000 } },
  },
};

export interface Measure {
  name: string;
  title: string;
  cell: string;
  of: (reading: Reading) => number;
  unit: string;
  /** `added` means in addition to the upstream alone. */
  compare: Finding['compare'];
  goal?: Goal;
  /** Goal for the ratio to Portkey's gateway. */
  portkeyGoal?: Goal;
}

export const MEASURES: readonly Measure[] = [
  {
    name: 'cpu',
    title: 'CPU per request, 32 connections, 0.8 KB body',
    cell: 'many',
    of: ({ cpuUs }) => cpuUs,
    unit: 'µs',
    compare: 'ratio',
    goal: { atMost: 1.8 },
    portkeyGoal: { atMost: 1 / 7 },
  },
  {
    name: 'requests',
    title: 'requests/s, 256 connections',
    cell: 'crowd',
    of: ({ perSecond }) => perSecond,
    unit: '/s',
    compare: 'ratio',
    goal: { atLeast: 0.8 },
  },
  {
    name: 'crowd',
    title: 'CPU per request, 256 connections, 0.8 KB body',
    cell: 'crowd',
    of: ({ cpuUs }) => cpuUs,
    unit: 'µs',
    compare: 'ratio',
  },
  {
    name: 'latency',
    title: 'p50 latency, 1 connection; added to the upstream alone',
    cell: 'one',
    of: ({ p50Ms }) => p50Ms,
    unit: 'ms',
    compare: 'added',
    goal: { atMost: 0.25 },
  },
  {
    name: 'stream',
    title: 'CPU per streamed answer of 53 frames, 32 connections',
    cell: 'flatOut',
    of: ({ cpuUs }) => cpuUs,
    unit: 'µs',
    compare: 'ratio',
    goal: { atMost: 1.3 },
  },
  {
    name: 'first-token',
    title: 'p50 time to first token, 32 paced streams; added to the upstream alone',
    cell: 'paced',
    of: ({ firstByteP50Ms }) => firstByteP50Ms,
    unit: 'ms',
    compare: 'added',
    goal: { atMost: 1 },
  },
  {
    name: 'large',
    title: 'CPU per request, 32 connections, 211 KB body',
    cell: 'large',
    of: ({ cpuUs }) => cpuUs,
    unit: 'µs',
    compare: 'ratio',
    goal: { atMost: 2.5 },
  },
  {
    name: 'memory',
    title: 'memory after 256 connections',
    cell: 'crowd',
    of: ({ residentMiB }) => residentMiB,
    unit: 'MiB',
    compare: 'itself',
    goal: { atMost: 130 },
  },
];
