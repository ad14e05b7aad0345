import { createChoiceEnds } from '../../contracts/choice-ends.ts';
import { DONE_EVENT, isWholeData, STREAM_DONE } from '../../contracts/server-sent-events.ts';
import { BufferList } from '../shared/buffer-list.ts';
import {
  type AnswerStreamOptions,
  BrokenStreamError,
  type ChunkFields,
  createEventEncoder,
  readChunk,
  readFields,
  reportText,
  toByteString,
} from './answer-stream.ts';
import type { AnswerIdentity, Identify } from './response-identity.ts';

/**
 * Passes on the events of a streamed answer as they come. An event is looked into at a few known places and is parsed only
 * when it carries usage, an error or a reason, or looks unlike the others; what is passed on are its own bytes, under one
 * identity for all.
 * Everything here is UTF-8 as a string of bytes ("latin1"), which Node reads and writes without a conversion.
 */
export interface SsePassthrough {
  /** What of these bytes can be passed on now: whole events. */
  push(bytes: Buffer): string;
  /** The bytes have ended. What can still be passed on. */
  end(): string;
  /** The stream has said that it is whole, or has ended so that it is; what follows is dropped. */
  readonly whole: boolean;
  /** What is wrong with the stream; what follows is dropped. */
  readonly broken: BrokenStreamError | undefined;
}

/** What stands around the text of an event, as it came and as it is passed on. */
interface EventTemplate {
  before: string;
  after: string;
  passedBefore: string;
  passedAfter: string;
}

/** What stands in each event of an answer. */
interface Answer {
  identity: AnswerIdentity;
  idField: string;
  createdField: string;
  /** The fields of its first event. */
  first: ChunkFields;
}

/** How an event gets the identity of its answer. */
interface IdentityPatch {
  /** What its own id follows, which is replaced; empty when that stays. */
  idMark: string;
  /** The fields it lacks. */
  missingFields: string;
}

/** Of an event that has it. */
const NO_PATCH: IdentityPatch = { idMark: '', missingFields: '' };

/** No provider's event comes near it. */
const EVENT_LIMIT_BYTES = 1024 * 1024;

const DATA_OBJECT = 'data: {';
const CHOICES = '"choices":[';
const FIRST_CHOICE = '{"index":0,';
/** What an event holds that tells of another choice than the first: beside one that comes first, and elsewhere. */
const CHOICE_BESIDE = '},{"index":';
const OTHER_CHOICE = /"index":(?!0[,}])/;
const REASON = /"finish_reason":"[^"]/;
const MODEL = '"model":"';
const OPENS_WITH_ID = 'data: {"id":"';
/** Elsewhere in an event it may be that of a tool call. */
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

export function createSsePassthrough(
  options: AnswerStreamOptions,
  identify: Identify,
): SsePassthrough {
  const { model, wantsUsage, onText } = options;
  const chunks = createEventEncoder(options);
  const quotedModel = toByteString(JSON.stringify(model));
  const cutter = new SseSplitter();
  const ends = createChoiceEnds();
  // Fields and not accessors: V8 takes as long to make an object with those as to pass on several events.
  const state = { whole: false, broken: undefined as BrokenStreamError | undefined };
  let answer: Answer | undefined;
  let template: EventTemplate | undefined;

  function pass(event: string): string {
    if (state.whole) return '';
    return passByTemplate(event) ?? passNew(event);
  }

  /** Passes on an event that differs from an earlier one in nothing but its text, as nearly all do. */
  function passByTemplate(event: string): string | undefined {
    if (!template) return undefined;
    const start = template.before.length;
    const end = event.length - template.after.length;
    // Compared as slices: V8 compares whole strings at once, but `startsWith` a character at a time.
    if (event.slice(0, start) !== template.before || event.slice(end) !== template.after)
      return undefined;
    // A quote or a line break inside would mean that the text ends elsewhere, or that this is no single event.
    if (event.indexOf('"', start) !== end || event.charCodeAt(end - 1) === BACKSLASH)
      return undefined;
    if (event.indexOf('\n', start) !== event.length - 2) return undefined;
    reportText(end - start, onText);
    return template.passedBefore + event.slice(start, end) + template.passedAfter;
  }

  function passNew(event: string): string {
    if (!event.startsWith(DATA_OBJECT) || event.indexOf('\n') !== event.length - 2) {
      return passUnusual(event);
    }
    if (!event.endsWith('}\n\n')) throw new BrokenStreamError('is not JSON');
    const choicesAt = event.indexOf(CHOICES);
    const modelAt = event.indexOf(MODEL);
    const usageAt = event.indexOf(USAGE);
    if (
      choicesAt === -1 ||
      modelAt === -1 ||
      event.includes(MODEL, modelAt + 1) ||
      event.includes('"error":') ||
      (usageAt !== -1 && !event.startsWith(NO_USAGE, usageAt - 1))
    ) {
      return passParsed(jsonOf(event));
    }
    answer ??= begin(readFields(jsonOf(event)));
    const patch = identityPatchOf(event, answer);
    if (!patch) return passParsed(jsonOf(event));
    noteChoices(event, choicesAt + CHOICES.length);
    // Quotes inside JSON's strings are escaped, so none of the names can stand in the text.
    const contentAt = event.indexOf(CONTENT, choicesAt);
    if (contentAt === -1) return alter(event, answer, patch);
    const start = contentAt + CONTENT.length;
    const end = endOfString(event, start);
    const before = asFlatString(event.slice(0, start));
    const after = asFlatString(event.slice(end));
    template = {
      before,
      after,
      passedBefore: asFlatString(alter(before, answer, patch)),
      passedAfter: asFlatString(alter(after, answer, patch)),
    };
    reportText(end - start, onText);
    return template.passedBefore + event.slice(start, end) + template.passedAfter;
  }

  /** Notes which choices an event is about. It is parsed only where it may say more than that the first one goes on. */
  function noteChoices(event: string, at: number): void {
    const hasOther = event.startsWith(FIRST_CHOICE, at)
      ? event.includes(CHOICE_BESIDE, at)
      : OTHER_CHOICE.test(event);
    if (!hasOther && !REASON.test(event)) {
      ends.note(0, null);
      return;
    }
    const { choices } = readFields(jsonOf(event));
    for (const choice of [choices].flat()) {
      const { index = 0, finish_reason } = Object(choice);
      ends.note(index, finish_reason);
    }
  }

  /** Settles with its first event what all events of the answer say of it. */
  function begin(fields: ChunkFields): Answer {
    const identity = identify(fields);
    return {
      identity,
      idField: toByteString(`${ID}${JSON.stringify(identity.id)}`),
      createdField: `${CREATED}${identity.created}`,
      first: fields,
    };
  }

  /** A part of an event under the client's name for the model and its answer's identity, without the usage that nobody asked for. */
  function alter(part: string, { idField, createdField }: Answer, patch: IdentityPatch): string {
    const { idMark, missingFields: lacking } = patch;
    let altered = wantsUsage ? part : part.replace(NO_USAGE, '');
    const nameAt = altered.indexOf(MODEL);
    if (nameAt !== -1) altered = withString(altered, nameAt + MODEL.length - 1, quotedModel);
    if (patch === NO_PATCH) return altered;
    altered = altered.replace(CREATED_VALUE, createdField);
    const idAt = idMark === '' ? -1 : altered.indexOf(idMark);
    if (idAt !== -1)
      altered = withString(altered, idAt + idMark.length - 1, idField.slice(ID.length));
    if (lacking === '' || !altered.startsWith(DATA_OBJECT)) return altered;
    return `${DATA_OBJECT}${lacking}${altered.slice(DATA_OBJECT.length)}`;
  }

  /** An event with comments, other fields, or several lines. */
  function passUnusual(event: string): string {
    if (event.startsWith(BYTE_ORDER_MARK)) return pass(event.slice(BYTE_ORDER_MARK.length));
    const data = dataOf(event);
    if (data.length === 0) return '';
    if (data[0] !== STREAM_DONE) return passParsed(data.join('\n'));
    state.whole = true;
    if (!answer || !chunks.lacksUsage) return '';
    return chunks.usageEvent({ ...answer.first, ...answer.identity });
  }

  function passParsed(json: string): string {
    const chunk = readChunk(json, (fields) => {
      answer ??= begin(fields);
      return answer.identity;
    });
    for (const { index, finish_reason } of chunk.choices) ends.note(index, finish_reason);
    return chunks.event(chunk);
  }

  /** Takes whole events, each with its empty line. Keeps what could be passed on when something after it is wrong. */
  function passAll(text: string): string {
    let passed = '';
    try {
      let start = afterEmptyLines(text, 0);
      while (start < text.length) {
        const end = text.indexOf('\n\n', start) + 2;
        // Most packets hold one event.
        const event = end - start === text.length ? text : text.slice(start, end);
        passed += pass(event);
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
      if (cutter.unfinishedBytes > EVENT_LIMIT_BYTES)
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
function asFlatString(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Where the next event begins: empty lines more than the one that ends an event are part of none. */
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

/** The JSON of an event that holds nothing else. */
function jsonOf(event: string): string {
  return event.slice('data: '.length);
}

/** How to put right what an event says of its answer; nothing where that takes parsing it. */
function identityPatchOf(
  event: string,
  { idField, createdField }: Answer,
): IdentityPatch | undefined {
  if (event.includes(idField) && event.includes(`${createdField},`)) return NO_PATCH;
  const createdAt = event.indexOf(CREATED);
  const lacksId = !event.includes(ID);
  const idMark = lacksId || event.includes(idField) ? '' : markOfId(event);
  if (idMark === undefined) return undefined;
  if (createdAt !== -1 && event.includes(CREATED, createdAt + 1)) return undefined;
  if (createdAt !== -1 && !CREATED_VALUE.test(event)) return undefined;
  const lacking = (lacksId ? `${idField},` : '') + (createdAt === -1 ? `${createdField},` : '');
  return { idMark, missingFields: lacking };
}

/** What the answer's own id follows in an event; nothing where that is not certain. */
function markOfId(event: string): string | undefined {
  if (event.startsWith(OPENS_WITH_ID)) return OPENS_WITH_ID;
  const at = event.indexOf(LATER_ID);
  const isAlone = at !== -1 && !event.includes(LATER_ID, at + 1);
  return isAlone && !event.includes('"tool_calls":') ? LATER_ID : undefined;
}

/** A text with another JSON string in the place of the one that begins there. */
function withString(text: string, at: number, quoted: string): string {
  return `${text.slice(0, at)}${quoted}${text.slice(endOfString(text, at + 1) + 1)}`;
}

/** The values of an event's `data` fields. */
function dataOf(event: string): string[] {
  return event
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

const EVENT_ENDS = [Buffer.from('\n\n'), Buffer.from('\n\r\n')];

/** Cuts the bytes of a stream behind empty lines, as they come. What it gives is UTF-8 as a string of bytes. */
class SseSplitter {
  private unfinished = new BufferList();
  private seam: Buffer = Buffer.alloc(0);

  /** How much waits for its empty line. */
  get unfinishedBytes(): number {
    return this.unfinished.length;
  }

  /** All bytes so far up to the last empty line; keeps the rest. */
  take(bytes: Buffer): string {
    if (this.unfinished.length === 0 && endsEvent(bytes))
      return withLineFeeds(bytes.toString('latin1'));
    this.unfinished.add(bytes);
    // Looked for at the seam and behind it only: an event may come in a million pieces.
    const joint = Buffer.concat([this.seam, bytes]);
    this.seam = joint.subarray(-2);
    if (endOfLastEvent(joint) === 0) return '';
    const all = this.unfinished.join();
    const end = endOfLastEvent(all);
    const rest = all.subarray(end);
    this.unfinished = new BufferList();
    this.unfinished.add(rest);
    this.seam = rest.subarray(-2);
    return withLineFeeds(all.toString('latin1', 0, end));
  }

  /** What no empty line has followed yet. */
  rest(): string {
    return withLineFeeds(this.unfinished.join().toString('latin1'));
  }
}

function endsEvent(bytes: Buffer): boolean {
  const { length } = bytes;
  return length > 1 && bytes[length - 1] === LINE_BREAK && bytes[length - 2] === LINE_BREAK;
}

function withLineFeeds(text: string): string {
  return text.includes('\r') ? text.replaceAll('\r\n', '\n') : text;
}

/** Where the last whole event ends; 0 when there is none. */
function endOfLastEvent(bytes: Buffer): number {
  return Math.max(
    ...EVENT_ENDS.map((end) => {
      const at = bytes.lastIndexOf(end);
      return at === -1 ? 0 : at + end.length;
    }),
  );
}
