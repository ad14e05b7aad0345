// A model provider that costs little: one answer under some ids, prebuilt, over raw sockets. Started by the bench with no arguments.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createMessageReader } from '../shared/message-reader.ts';
import { IDS, plainAnswer, streamEvents } from './answers.ts';
import { MODEL, PROVIDER_MODEL } from './requests.ts';

/** The part of each request that is checked. Small requests are checked whole, and only small ones ask for streams. */
const LOOK_CHARACTERS = 4096;

/** Smallest body of a complete request. */
const LEAST_BODY_BYTES = 700;
const CLOSING_BRACE = 0x7d;

const FIRST_TOKEN_MS = 20;
const TOKEN_MS = 5;

const PLAIN = IDS.map((id) => {
  const answer = plainAnswer(id);
  return Buffer.from(
    [
      'HTTP/1.1 200 OK',
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(answer)}`,
      'X-Request-Id: req_5d1c7a9b3e',
      '',
      answer,
    ].join('\r\n'),
  );
});

const REFUSAL = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n';

const STREAM_HEAD = [
  'HTTP/1.1 200 OK',
  'Content-Type: text/event-stream; charset=utf-8',
  'Transfer-Encoding: chunked',
  'X-Request-Id: req_5d1c7a9b3e',
  '',
  '',
].join('\r\n');

const FRAMES = IDS.map((id) => framesOf(streamEvents({ id, usage: false })));
const FRAMES_WITH_USAGE = IDS.map((id) => framesOf(streamEvents({ id, usage: true })));
let answers = 0;

const server = createServer({ noDelay: true }, (socket) => {
  let asked = '';
  let length = 0;
  let lastByte = 0;
  let isChat = false;
  const read = createMessageReader({
    head(text) {
      asked = '';
      length = 0;
      isChat = text.startsWith('POST /v1/chat/completions ');
    },
    body(bytes) {
      length += bytes.length;
      lastByte = bytes.at(-1) ?? 0;
      const wanted = LOOK_CHARACTERS - asked.length;
      if (wanted > 0) asked += bytes.toString('latin1', 0, wanted);
    },
    end() {
      const whole = isChat && length >= LEAST_BODY_BYTES && lastByte === CLOSING_BRACE;
      if (whole) answer(socket, asked);
      else socket.write(REFUSAL);
    },
  });
  socket.on('data', read);
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}.\n`);
});
// The bench holds the other end: when it is gone, so is this.
process.stdin.resume().once('end', () => process.exit(0));

function answer(socket: Socket, asked: string): void {
  answers = (answers + 1) % IDS.length;
  if (!asked.includes('"stream":true')) return void socket.write(PLAIN[answers] ?? '');
  const frames = (asked.includes('"include_usage":true') ? FRAMES_WITH_USAGE : FRAMES)[answers];
  if (!frames) return;
  const paced = asked.includes(PROVIDER_MODEL.paced) || asked.includes(MODEL.paced);
  let at = 0;
  const next = () => {
    const frame = frames[at];
    if (frame === undefined || socket.destroyed) return;
    socket.write(frame);
    at += 1;
    if (paced) setTimeout(next, TOKEN_MS);
    else setImmediate(next);
  };
  if (paced) setTimeout(next, FIRST_TOKEN_MS);
  else setImmediate(next);
}

/** Each event as one chunk, so that it can be written by itself; head and end ride on the first and the last. */
function framesOf(events: readonly string[]): Buffer[] {
  return events.map((event, at) => {
    const chunk = `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
    const head = at === 0 ? STREAM_HEAD : '';
    const end = at === events.length - 1 ? '0\r\n\r\n' : '';
    return Buffer.from(head + chunk + end);
  });
}
