import { PROVIDER_MODEL } from './requests.ts';

/** Frames of a streamed answer, `[DONE]` among them. */
export const FRAMES = 53;

const REPLY =
  'The checkout answered with 503 because every connection to its database was taken. Raise the limit of the pool, ' +
  'or find out who holds connections for minutes: the slow report at midnight is the first that I would look at. ' +
  'Then set a timeout, so that it fails alone.';

const WORDS = Array.from({ length: FRAMES - 3 }, (_, at) => ` word${at}`);

const USAGE = {
  prompt_tokens: 187,
  completion_tokens: 52,
  total_tokens: 239,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
};

const CREATED = Math.floor(Date.now() / 1000);

/** Ids of answers, one after the other: a provider that gives each the same is not passed on as it is. */
export const IDS = Array.from(
  { length: 64 },
  (_, at) => `chatcmpl-9f2c4d6e8a0b1c3d5e${at.toString(16).padStart(2, '0')}`,
);

/** The body of a plain answer, about 700 bytes. */
export function plainAnswer(id: string): string {
  return JSON.stringify({
    id,
    object: 'chat.completion',
    created: CREATED,
    model: PROVIDER_MODEL.flatOut,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: REPLY, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
    system_fingerprint: 'fp_5d1c7a9b3e',
  });
}

/** The events of a streamed answer; with usage, as a caller gets them who asked for it. */
export function streamEvents(options: { id: string; usage: boolean }): string[] {
  const event = (choices: unknown[], usage: unknown) => {
    const chunk = {
      id: options.id,
      object: 'chat.completion.chunk',
      created: CREATED,
      model: PROVIDER_MODEL.flatOut,
      system_fingerprint: 'fp_5d1c7a9b3e',
      choices,
      ...(options.usage && { usage }),
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  };
  const delta = (value: unknown, finish_reason: string | null = null) =>
    event([{ index: 0, delta: value, logprobs: null, finish_reason }], null);
  return [
    delta({ role: 'assistant', content: '' }),
    ...WORDS.map((content) => delta({ content })),
    delta({}, 'stop'),
    ...(options.usage ? [event([], USAGE)] : []),
    'data: [DONE]\n\n',
  ];
}

export function problemOfPlain(body: Buffer, first: boolean): string | undefined {
  if (first) {
    const answer = JSON.parse(body.toString());
    if (answer.object !== 'chat.completion') return 'a plain answer is no chat completion';
    if (answer.usage?.total_tokens !== USAGE.total_tokens) return 'a plain answer has other usage';
    if (answer.choices?.[0]?.message?.content !== REPLY) return 'a plain answer says another thing';
  }
  return body.includes(REPLY) ? undefined : 'a plain answer is not whole';
}

export function problemOfStream(body: Buffer, first: boolean): string | undefined {
  if (!body.subarray(-16).includes('data: [DONE]\n\n')) return 'a stream does not end with [DONE]';
  const frames = countOf('data: ', body);
  if (frames !== FRAMES) return `a stream has ${frames} frames instead of ${FRAMES}`;
  if (!first) return undefined;
  const text = body
    .toString()
    .split('\n\n')
    .slice(0, -2)
    .map((frame) => JSON.parse(frame.slice('data: '.length)).choices[0].delta.content ?? '')
    .join('');
  return text === WORDS.join('') ? undefined : 'a stream says another thing';
}

function countOf(mark: string, body: Buffer): number {
  let count = 0;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length))
    count += 1;
  return count;
}
