import { createChoiceEnds } from '../../contracts/choice-ends.ts';
import { DONE_EVENT, isWholeData, STREAM_DONE } from '../../contracts/server-sent-events.ts';
import {
  BrokenStreamError,
  type ChunkFields,
  createChunkFrames,
  type FramesOptions,
  noteBytes,
  readChunk,
  readFields,
  toByteString,
} from './chunk-frames.ts';
import type { AnswerIdentity, Identify } from './response-identity.ts';
import { FrameCutter } from './sse-splitter.ts';

/**
 * Passes on the frames of a streamed answer as they come. A frame is looked into at a few known places and is parsed only
 * when it carries usage, an error or a reason, or looks unlike the others; what is passed on are its own bytes, under one
 * identity for all.
 * Everything here is UTF-8 as a string of bytes ("latin1"), which Node reads and writes without a conversion.
 */
export interface Frames {
  /** What of these bytes can be passed on now: whole frames. */
  push(bytes: Buffer): string;
  /** The bytes have ended. What can still be passed on. */
  end(): string;
  /** The stream has said that it is whole, or has ended so that it is; what follows is dropped. */
  readonly whole: boolean;
  /** What is wrong with the stream; what follows is dropped. */
  readonly broken: BrokenStreamError | undefined;
}

/** What stands around the text of a frame, as it came and as it is passed on. */
interface Mould {
  before: string;
  after: string;
  passedBefore: string;
  passedAfter: string;
}

/** What stands in each frame of an answer. */
interface Answer {
  identity: AnswerIdentity;
  idField: string;
  createdField: string;
  /** The fields of its first frame. */
  first: ChunkFields;
}

/** How a frame gets the identity of its answer. */
interface Mending {
  /** What its own id follows, which is replaced; empty when that stays. */
  idMark: string;
  /** The fields it lacks. */
  lacking: string;
}

/** Of a frame that has it. */
const NOTHING_TO_MEND: Mending = { idMark: '', lacking: '' };

/** No provider's frame comes near it. */
const FRAME_LIMIT_BYTES = 1024 * 1024;

const DATA_OBJECT = 'data: {';
const CHOICES = '"choices":[';
const FIRST_CHOICE = '{"index":0,';
/** What a frame holds that tells of another choice than the first: beside one that comes first, and elsewhere. */
const CHOICE_BESIDE = '},{"index":';
const OTHER_CHOICE = /"index":(?!0[,}])/;
const REASON = /"finish_reason":"[^"]/;
const MODEL = '"model":"';
const OPENS_WITH_ID = 'data: {"id":"';
/** Elsewhere in a frame it may be that of a tool call. */
const LATER_ID = ',"id":"';
const ID = '"id":';
const CREATED = '"created":';
const CREATED_VALUE = /"created":(?:null|[-+.\dEe]+)(?=[,}])/;
const CONTENT = '"content":"';
const USAGE = '"usage":';
const NO_USAGE = ',"usage":null';
const BACKSLASH = 0x5c;
/** UTF-8's, which may stand before the first event. Source: WHATWG HTML, "Parsing an event stream". */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';
const LINE_BREAK = 0x0a;

export function createFrames(options: FramesOptions, identify: Identify): Frames {
  const { model, wantsUsage, onText } = options;
  const chunks = createChunkFrames(options);
  const quotedModel = toByteString(JSON.stringify(model));
  const cutter = new FrameCutter();
  const ends = createChoiceEnds();
  // Fields and not accessors: V8 takes as long to make an object with those as to pass on several frames.
  const state = { whole: false, broken: undefined as BrokenStreamError | undefined };
  let answer: Answer | undefined;
  let mould: Mould | undefined;

  function pass(frame: string): string {
    if (state.whole) return '';
    return passAlike(frame) ?? passNew(frame);
  }

  /** Passes on a frame that differs from an earlier one in nothing but its text, as nearly all do. */
  function passAlike(frame: string): string | undefined {
    if (!mould) return undefined;
    const start = mould.before.length;
    const end = frame.length - mould.after.length;
    // Compared as slices: V8 compares whole strings at once, but `startsWith` a character at a time.
    if (frame.slice(0, start) !== mould.before || frame.slice(end) !== mould.after)
      return undefined;
    // A quote or a line break inside would mean that the text ends elsewhere, or that this is no single frame.
    if (frame.indexOf('"', start) !== end || frame.charCodeAt(end - 1) === BACKSLASH)
      return undefined;
    if (frame.indexOf('\n', start) !== frame.length - 2) return undefined;
    noteBytes(end - start, onText);
    return mould.passedBefore + frame.slice(start, end) + mould.passedAfter;
  }

  function passNew(frame: string): string {
    if (!frame.startsWith(DATA_OBJECT) || frame.indexOf('\n') !== frame.length - 2) {
      return passUnusual(frame);
    }
    if (!frame.endsWith('}\n\n')) throw new BrokenStreamError('is not JSON');
    const choicesAt = frame.indexOf(CHOICES);
    const modelAt = frame.indexOf(MODEL);
    const usageAt = frame.indexOf(USAGE);
    if (
      choicesAt === -1 ||
      modelAt === -1 ||
      frame.includes(MODEL, modelAt + 1) ||
      frame.includes('"error":') ||
      (usageAt !== -1 && !frame.startsWith(NO_USAGE, usageAt - 1))
    ) {
      return passParsed(jsonOf(frame));
    }
    answer ??= begin(readFields(jsonOf(frame)));
    const mending = mendingOf(frame, answer);
    if (!mending) return passParsed(jsonOf(frame));
    noteChoices(frame, choicesAt + CHOICES.length);
    // Quotes inside JSON's strings are escaped, so none of the names can stand in the text.
    const contentAt = frame.indexOf(CONTENT, choicesAt);
    if (contentAt === -1) return alter(frame, answer, mending);
    const start = contentAt + CONTENT.length;
    const end = endOfString(frame, start);
    const before = flat(frame.slice(0, start));
    const after = flat(frame.slice(end));
    mould = {
      before,
      after,
      passedBefore: flat(alter(before, answer, mending)),
      passedAfter: flat(alter(after, answer, mending)),
    };
    noteBytes(end - start, onText);
    return mould.passedBefore + frame.slice(start, end) + mould.passedAfter;
  }

  /** Notes which choices a frame is about. It is parsed only where it may say more than that the first one goes on. */
  function noteChoices(frame: string, at: number): void {
    const hasOther = frame.startsWith(FIRST_CHOICE, at)
      ? frame.includes(CHOICE_BESIDE, at)
      : OTHER_CHOICE.test(frame);
    if (!hasOther && !REASON.test(frame)) {
      ends.note(0, null);
      return;
    }
    const { choices } = readFields(jsonOf(frame));
    for (const choice of [choices].flat()) {
      const { index = 0, finish_reason } = Object(choice);
      ends.note(index, finish_reason);
    }
  }

  /** Settles with its first frame what all frames of the answer say of it. */
  function begin(fields: ChunkFields): Answer {
    const identity = identify(fields);
    return {
      identity,
      idField: toByteString(`${ID}${JSON.stringify(identity.id)}`),
      createdField: `${CREATED}${identity.created}`,
      first: fields,
    };
  }

  /** A part of a frame under the caller's name for the model and its answer's identity, without the usage that nobody asked for. */
  function alter(part: string, { idField, createdField }: Answer, mending: Mending): string {
    const { idMark, lacking } = mending;
    let altered = wantsUsage ? part : part.replace(NO_USAGE, '');
    const nameAt = altered.indexOf(MODEL);
    if (nameAt !== -1) altered = withString(altered, nameAt + MODEL.length - 1, quotedModel);
    if (mending === NOTHING_TO_MEND) return altered;
    altered = altered.replace(CREATED_VALUE, createdField);
    const idAt = idMark === '' ? -1 : altered.indexOf(idMark);
    if (idAt !== -1)
      altered = withString(altered, idAt + idMark.length - 1, idField.slice(ID.length));
    if (lacking === '' || !altered.startsWith(DATA_OBJECT)) return altered;
    return `${DATA_OBJECT}${lacking}${altered.slice(DATA_OBJECT.length)}`;
  }

  /** A frame with comments, other fields, or several lines. */
  function passUnusual(frame: string): string {
    if (frame.startsWith(BYTE_ORDER_MARK)) return pass(frame.slice(BYTE_ORDER_MARK.length));
    const data = dataOf(frame);
    if (data.length === 0) return '';
    if (data[0] !== STREAM_DONE) return passParsed(data.join('\n'));
    state.whole = true;
    if (!answer || !chunks.owesUsage) return '';
    return chunks.usageLike({ ...answer.first, ...answer.identity });
  }

  function passParsed(json: string): string {
    const chunk = readChunk(json, (fields) => {
      answer ??= begin(fields);
      return answer.identity;
    });
    for (const { index, finish_reason } of chunk.choices) ends.note(index, finish_reason);
    return chunks.frame(chunk);
  }

  /** Takes whole frames, each with its empty line. Keeps what could be passed on when something after it is wrong. */
  function passAll(text: string): string {
    let passed = '';
    try {
      let start = afterEmptyLines(text, 0);
      while (start < text.length) {
        const end = text.indexOf('\n\n', start) + 2;
        // Most packets hold one frame.
        const frame = end - start === text.length ? text : text.slice(start, end);
        passed += pass(frame);
        start = afterEmptyLines(text, end);
      }
    } catch (error) {
      if (!(error instanceof BrokenStreamError)) throw error;
      state.broken = error;
    }
    return passed;
  }

  return Object.assign(state, {
    push(bytes: Buffer) {
      if (state.whole || state.broken) return '';
      const text = cutter.take(bytes);
      const passed = text === '' ? '' : passAll(text);
      if (cutter.unfinishedBytes > FRAME_LIMIT_BYTES)
        state.broken ??= new BrokenStreamError('is garbled');
      return passed;
    },
    end() {
      if (state.whole || state.broken) return '';
      // Some servers leave out the empty line after the last event, and some the event that says that it is the last.
      const rest = cutter.rest().trimEnd();
      if (isWholeRest(rest)) {
        const passed = passAll(`${rest}\n\n`);
        const told = !state.whole && !state.broken && ends.all() ? passAll(DONE_EVENT) : '';
        if (state.whole) return passed + told;
      }
      state.broken ??= new BrokenStreamError('ended before it was complete');
      return '';
    },
  });
}

/** A copy that stands in memory by itself: V8 compares and joins it several times faster than a piece of a longer text. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Where the next frame begins: empty lines more than the one that ends a frame are part of none. */
function afterEmptyLines(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) === LINE_BREAK) at += 1;
  return at;
}

/** Whether what no empty line has followed is all of an event, or nothing that matters; else it was cut. */
function isWholeRest(rest: string): boolean {
  const [first, ...more] = dataOf(rest);
  if (first === undefined) return rest.split('\n').every((line) => /^(:|$)/.test(line));
  return first === STREAM_DONE || isWholeData([first, ...more].join('\n'));
}

/** The JSON of a frame that holds nothing else. */
function jsonOf(frame: string): string {
  return frame.slice('data: '.length);
}

/** How to put right what a frame says of its answer; nothing where that takes parsing it. */
function mendingOf(frame: string, { idField, createdField }: Answer): Mending | undefined {
  if (frame.includes(idField) && frame.includes(`${createdField},`)) return NOTHING_TO_MEND;
  const createdAt = frame.indexOf(CREATED);
  const lacksId = !frame.includes(ID);
  const idMark = lacksId || frame.includes(idField) ? '' : markOfId(frame);
  if (idMark === undefined) return undefined;
  if (createdAt !== -1 && frame.includes(CREATED, createdAt + 1)) return undefined;
  if (createdAt !== -1 && !CREATED_VALUE.test(frame)) return undefined;
  const lacking = (lacksId ? `${idField},` : '') + (createdAt === -1 ? `${createdField},` : '');
  return { idMark, lacking };
}

/** What the answer's own id follows in a frame; nothing where that is not certain. */
function markOfId(frame: string): string | undefined {
  if (frame.startsWith(OPENS_WITH_ID)) return OPENS_WITH_ID;
  const at = frame.indexOf(LATER_ID);
  const isAlone = at !== -1 && !frame.includes(LATER_ID, at + 1);
  return isAlone && !frame.includes('"tool_calls":') ? LATER_ID : undefined;
}

/** A text with another JSON string in the place of the one that begins there. */
function withString(text: string, at: number, quoted: string): string {
  return `${text.slice(0, at)}${quoted}${text.slice(endOfString(text, at + 1) + 1)}`;
}

/** The values of a frame's `data` fields. */
function dataOf(frame: string): string[] {
  return frame
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line[5] === ' ' ? 6 : 5));
}

/** Where the closing quote of a JSON string stands. */
function endOfString(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at);
    if (at === -1) throw new BrokenStreamError('is not JSON');
    let escapes = at;
    while (text[escapes - 1] === '\\') escapes -= 1;
    if ((at - escapes) % 2 === 0) return at;
    at += 1;
  }
}
