import { createRandom } from '../random.ts';
import { type Frame, goodAnswer, type Lane } from './fault-answers.ts';

/** The place in a good answer at which the fault occurs. */
export const PLACES = ['head', 'body', 'character', 'line', 'frame', 'end'] as const;
export type Place = (typeof PLACES)[number];

/** How a body says where it ends. */
export type Framing = 'chunked' | 'length' | 'close';

export interface Kind {
  /** Places at which the fault can occur; absent if it replaces the answer or surrounds a good one. */
  places?: readonly Place[];
  only?: 'streams' | 'whole answers';
  /** The answer is whole all the same. */
  harmless?: boolean;
  /** The upstream goes silent, or sends only bytes that don't count as an answer. */
  silent?: boolean;
  framing?: Framing;
}

const anywhere = { places: PLACES };

/** Faults of an upstream. */
export const KINDS = {
  refuses: {},
  'never answers': { silent: true },
  hangs: { ...anywhere, silent: true },
  'ends the connection': anywhere,
  'resets the connection': anywhere,
  'goes on with garbage': anywhere,
  'ends its answer too early': { places: ['body', 'character', 'line', 'frame'] },
  'tells an error inside the stream': { places: ['frame'], only: 'streams' },
  'sends comments for ever': { places: ['frame'], only: 'streams', silent: true },
  'never comes to the end of a line': { places: ['body', 'frame'] },
  'sends one byte a packet': { places: ['head'], harmless: true },
  'stops for a moment': { ...anywhere, harmless: true },
  'says it is shorter than it is': { places: ['body', 'character', 'line'], framing: 'length' },
  'says it is longer than it is': { silent: true, framing: 'length' },
  'answers with a page': {},
  'answers with another media type': { only: 'streams' },
  'answers with a gzip bomb': {},
  'answers with nothing': {},
  'answers with 204': {},
  'answers with a redirect': {},
  'answers with no HTTP': {},
  'switches protocols': {},
  'says 100 before it answers': {},
  'gives hints before it answers': { harmless: true },
  'sends huge headers': {},
  'sends odd headers': { harmless: true },
  'sends more after the end': { harmless: true },
  'sends for ever after the end': { harmless: true },
} as const satisfies Record<string, Kind>;
export type KindName = keyof typeof KINDS;

/** One fault, to be played. */
export interface FaultCase {
  seed: number;
  kind: KindName;
  lane: Lane;
  /** With two, the second one is well. */
  providers: 1 | 2;
  stream: boolean;
  framing: Framing;
  place: Place | undefined;
  /** Comments go out to the caller while it waits. */
  pings: boolean;
  /** The good answer in pieces as they stand on the wire, with what is wrong not yet in it. */
  pieces: Piece[];
  /** The fault occurs after this many bytes on the wire. */
  cut: number;
}

/** A part of a good answer's bytes. */
export interface Piece {
  bytes: Buffer;
  isBody: boolean;
}

/** The outcome that the caller must see. */
export type Expected =
  /** The whole answer, of the first provider or the second; or of one that did not say so, and not what it cost either. */
  | { outcome: 'whole'; by: 'first' | 'second'; unsaid?: true; estimated?: boolean }
  /** An error and nothing of an answer. */
  | { outcome: 'error'; status: 502 | 504 }
  /** This part of the answer, and then an error. */
  | { outcome: 'broken'; text: string; status: 502 | 504 };

/** Lane by lane, so that a few cases in a row meet them all; the way that is taken most comes first, and twice. */
const ORDER = [
  { lane: 'bytes', stream: true },
  { lane: 'bytes', stream: false },
  { lane: 'objects', stream: true },
  { lane: 'messages', stream: true },
  { lane: 'variants', stream: true },
  { lane: 'objects', stream: false },
  { lane: 'messages', stream: false },
  { lane: 'variants', stream: false },
] as const;

/** The case number `at` of a kind; the same for the same seed. */
export function drawCase(seed: number, kind: KindName, at: number): FaultCase {
  const random = createRandom(seed + at);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const rules: Kind = KINDS[kind];
  const turn = ORDER[at % ORDER.length] ?? ORDER[0];
  const { lane } = turn;
  const { silent = false } = rules;
  const stream = rules.only ? rules.only === 'streams' : turn.stream;
  const framings: Framing[] = stream ? ['chunked', 'close'] : ['chunked', 'close', 'length'];
  // A reset can overtake bytes that were sent before it, so both outcomes are allowed.
  const mayClose = stream || kind !== 'resets the connection';
  const places = rules.places?.filter((place) => stream || (place !== 'frame' && place !== 'line'));
  // Places take turns; a whole answer without its end is tried first.
  const place = places?.[(at + (stream ? 2 : places.length - 2)) % places.length];
  const framing =
    rules.framing ??
    (place === 'end' && at < ORDER.length
      ? 'chunked'
      : pick(framings.filter((framing) => mayClose || framing !== 'close')));
  const pieces = onTheWire(goodAnswer(lane, stream), framing, random);
  return {
    seed: seed + at,
    kind,
    lane,
    providers: pick([1, 2]),
    stream,
    framing,
    place,
    // Time passes in ticks, which pings make short enough to see when an end is put to something that never ends.
    pings: stream && (kind === 'sends for ever after the end' || (silent && random() < 0.3)),
    pieces,
    cut: place ? cutAt(place, pieces, goodAnswer(lane, stream), random) : 0,
  };
}

/** Returns the outcome that a fault must have, derived from the bytes alone and not from the gateway's way of reading them. */
export function expectationOf(fault: FaultCase): Expected {
  const { kind, lane, providers, stream, framing, pieces, cut } = fault;
  const rules: Kind = KINDS[kind];
  const frames = goodAnswer(lane, stream);
  const bodyBytes = bodyBefore(pieces, rules.places ? cut : 0);
  const come = framesWithin(frames, bodyBytes);
  const all = bodyBytes === Buffer.concat(frames.map(({ bytes }) => bytes)).length;
  const status = rules.silent ? 504 : 502;
  const complete = stream ? come.some(({ ends }) => ends) : all && endsThere(fault);
  const tooLong = kind === 'says it is longer than it is' && stream;
  if (rules.harmless || complete || tooLong) return { outcome: 'whole', by: 'first' };
  if (stream && come.some(({ mayEnd }) => mayEnd) && bodyEnds(fault)) {
    // The last frame is [DONE], and the one before it tells the usage.
    return {
      outcome: 'whole',
      by: 'first',
      unsaid: true,
      estimated: come.length < frames.length - 1,
    };
  }
  if (stream && come.some(({ passes }) => passes)) {
    return { outcome: 'broken', text: come.map(({ says }) => says).join(''), status };
  }
  return providers === 2 ? { outcome: 'whole', by: 'second' } : { outcome: 'error', status };

  /** Returns true if a stream's body ends properly, after a frame. */
  function bodyEnds({ kind }: FaultCase): boolean {
    const length = Buffer.concat(come.map(({ bytes }) => bytes)).length;
    if (length < bodyBytes) return false;
    // If only the end of the connection ends a body, undici treats a reset as the end. Source: undici, `onHttpSocketError`.
    if (kind === 'ends the connection' || kind === 'resets the connection')
      return framing === 'close';
    return kind === 'ends its answer too early' || kind === 'says it is shorter than it is';
  }

  /** Returns true if a whole answer is complete as soon as all of its body has arrived. */
  function endsThere({ kind }: FaultCase): boolean {
    if (framing === 'length') return true;
    if (framing === 'close') return kind === 'ends the connection';
    return cut === wireLength(pieces);
  }
}

/** The frames that so many bytes of the body hold to their end. */
function framesWithin(frames: Frame[], bodyBytes: number): Frame[] {
  let end = 0;
  return frames.filter(({ bytes }) => {
    end += bytes.length;
    return end <= bodyBytes;
  });
}

const wireLength = (pieces: Piece[]) =>
  pieces.reduce((length, { bytes }) => length + bytes.length, 0);

/** Returns how many bytes of the body the first `cut` bytes on the wire hold. */
export function bodyBefore(pieces: Piece[], cut: number): number {
  let at = 0;
  let body = 0;
  for (const { bytes, isBody } of pieces) {
    if (isBody) body += Math.max(0, Math.min(bytes.length, cut - at));
    at += bytes.length;
  }
  return body;
}

/** Returns the offset on the wire at which this many bytes of the body have been sent. */
function wireAt(pieces: Piece[], bodyBytes: number): number {
  let at = 0;
  let body = 0;
  for (const { bytes, isBody } of pieces) {
    if (isBody && body + bytes.length >= bodyBytes) return at + bodyBytes - body;
    if (isBody) body += bytes.length;
    at += bytes.length;
  }
  return at;
}

function onTheWire(frames: Frame[], framing: Framing, random: () => number): Piece[] {
  const body = Buffer.concat(frames.map(({ bytes }) => bytes));
  const stream = frames.length > 1;
  const head = [
    'HTTP/1.1 200 OK',
    `Content-Type: ${stream ? 'text/event-stream; charset=utf-8' : 'application/json'}`,
    framing === 'chunked' && 'Transfer-Encoding: chunked',
    framing === 'length' && `Content-Length: ${body.length}`,
    framing === 'close' && 'Connection: close',
  ];
  const text = `${head.filter(Boolean).join('\r\n')}\r\n\r\n`;
  const pieces: Piece[] = [{ bytes: Buffer.from(text), isBody: false }];
  if (framing !== 'chunked') return [...pieces, { bytes: body, isBody: true }];
  const sign = (bytes: string) => pieces.push({ bytes: Buffer.from(bytes), isBody: false });
  for (let at = 0; at < body.length; ) {
    const bytes = body.subarray(at, at + 1 + Math.floor(random() * 300));
    sign(`${bytes.length.toString(16)}\r\n`);
    pieces.push({ bytes, isBody: true });
    sign('\r\n');
    at += bytes.length;
  }
  sign('0\r\n\r\n');
  return pieces;
}

function cutAt(place: Place, pieces: Piece[], frames: Frame[], random: () => number): number {
  const within = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  const body = Buffer.concat(frames.map(({ bytes }) => bytes));
  const ends = frames.map((_, at) =>
    frames.slice(0, at + 1).reduce((end, { bytes }) => end + bytes.length, 0),
  );
  const last = frames.at(-1)?.bytes.length ?? 0;
  // Nearer to the end it is a matter of taste whether all has come.
  const limit = frames.length > 1 ? body.length - Math.min(last, 4) : body.length - 1;
  switch (place) {
    case 'head':
      return within(1, (pieces[0]?.bytes.length ?? 0) - 1);
    case 'body': {
      let at = within(1, limit);
      // A frame that lacks only its empty line may count as received or not.
      while (body[at] === 0x0a) at -= 1;
      return wireAt(pieces, at);
    }
    case 'character': {
      const starts = [...body.keys()].filter((at) => ((body[at] ?? 0) & 0xc0) === 0xc0);
      return wireAt(pieces, (starts[within(0, starts.length - 1)] ?? 0) + 1);
    }
    case 'line': {
      const frame = within(0, frames.length - 2);
      return wireAt(pieces, (ends[frame] ?? 0) + within(1, 8));
    }
    case 'frame':
      return wireAt(pieces, ends[within(-1, frames.length - 2)] ?? 0);
    case 'end':
      return wireAt(pieces, body.length);
  }
}
