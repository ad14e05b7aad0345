import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** Header of a DNS message. Source: RFC 1035 §4.1.1. */
const HEADER_BYTES = 12;
const TYPE_AND_CLASS_BYTES = 4;

/** Response, recursion desired and available, no error. */
const FLAGS = 0x8180;

/** An A record for the name of the question: a pointer to it, A, IN, 60 s, 192.0.2.1 (RFC 5737). */
const ANSWER = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]);

/** A resolver that costs little: every name has the same address. Gives its port. */
export async function startResolver(options: {
  host: string;
  /** Called with the first label of each requested name. */
  onQuestion: (label: string) => void;
}): Promise<number> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
  socket.on('message', (query, from) => {
    const end = endOfQuestion(query);
    if (end === undefined) return;
    const firstLength = query.readUInt8(HEADER_BYTES);
    options.onQuestion(query.toString('latin1', HEADER_BYTES + 1, HEADER_BYTES + 1 + firstLength));
    const answer = Buffer.concat([query.subarray(0, end), ANSWER]);
    answer.writeUInt16BE(FLAGS, 2);
    // One question, one answer, and nothing else: what a query carries beyond its question is left out.
    answer.writeUInt16BE(1, 4);
    answer.writeUInt16BE(1, 6);
    answer.writeUInt32BE(0, 8);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(0, options.host);
  await once(socket, 'listening');
  return socket.address().port;
}

/** Returns the end of the first question; undefined for an invalid message. */
function endOfQuestion(query: Buffer): number | undefined {
  let at = HEADER_BYTES;
  while (at < query.length && query.readUInt8(at) > 0) at += query.readUInt8(at) + 1;
  const end = at + 1 + TYPE_AND_CLASS_BYTES;
  return at > HEADER_BYTES && end <= query.length ? end : undefined;
}
