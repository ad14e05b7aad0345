/** The models of the bench as callers name them. */
export const MODEL = { flatOut: 'bench-chat', paced: 'bench-paced' } as const;

/** The provider's names for the models. They differ, so that a gateway must replace them. */
export const PROVIDER_MODEL = {
  flatOut: 'provider-chat-2026',
  paced: 'provider-paced-2026',
} as const;

const SMALL_BODY_BYTES = 800;
const LARGE_BODY_BYTES = 211_000;

/** A small conversation: 0.8 KB. */
export function smallBody(options: { model: string; stream: boolean }): string {
  return bodyOf(options, SMALL_BODY_BYTES, () => 'Why did the checkout fail at noon? ');
}

/** A question with a log and code in it, nearly every word of it escaped: 211 KB. */
export function largeBody(options: { model: string; stream: boolean }): string {
  return bodyOf(options, LARGE_BODY_BYTES, logEntry);
}

/** A whole HTTP request. */
export function chatRequest(options: {
  port: number;
  key: string;
  body: string;
  /** Additional headers. */
  headers?: Record<string, string>;
}): Buffer {
  const { port, key, body, headers = {} } = options;
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Accept: application/json',
    'User-Agent: askwatch-bench',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** A request of exactly so many bytes, whose last message is made of pieces. */
function bodyOf(
  { model, stream }: { model: string; stream: boolean },
  bytes: number,
  pieceAt: (at: number) => string,
): string {
  const write = (question: string) =>
    toAscii({
      model,
      ...(stream && { stream }),
      temperature: 0.7,
      max_tokens: 512,
      messages: [
        { role: 'system', content: 'You help a team to run its services. Answer in short.' },
        { role: 'user', content: 'The shop was down for five minutes yesterday.' },
        { role: 'assistant', content: 'I see. What do you want to know about it?' },
        { role: 'user', content: question },
      ],
    });
  let question = '';
  let left = bytes - write('').length;
  for (let at = 0; ; at += 1) {
    const piece = pieceAt(at);
    const size = toAscii(piece).length - '""'.length;
    if (size > left) return write(question + '.'.repeat(left));
    question += piece;
    left -= size;
  }
}

/** JSON as Python's `json` writes it, and so many clients: all but ASCII is escaped. */
function toAscii(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** An entry of a log with colours, JSON, a path and a stack. */
function logEntry(at: number): string {
  const ms = (at * 37) % 3000;
  return [
    `12:${10 + (at % 50)}:0${at % 10} \u001b[31mERROR\u001b[0m {"service":"checkout","attempt":${at % 4},"ms":${ms}}`,
    `\tthrow new Error("pool \\"orders\\" – no connection after ${ms} ms");`,
    `\tat acquire (C:\\srv\\checkout\\src\\pool.ts:${(at * 13) % 400}:${at % 60})`,
    `\tif (line.match(/^\\s*"(\\w+)"\\s*:/)) { parts.push("\\"" + line + "\\"\\n"); }`,
    '',
  ].join('\n');
}
