/** The ways that answers take through the gateway, and the provider that leads each of them. */
export const LANES = {
  /** Passed on as bytes. */
  bytes: { provider: 'openai', n: 1 },
  /** Read as objects. */
  objects: { provider: 'mistral', n: 1 },
  /** Another form of API. */
  messages: { provider: 'anthropic', n: 1 },
  /** Two calls for one answer. */
  variants: { provider: 'groq', n: 2 },
} as const;
export type Lane = keyof typeof LANES;

/** The answer of every model. Tests search for the word `canary-answer` where no answer may be. */
export const WORDS = ['Zwölf', ' Füße', ' 🌈', ' canary-answer', ' Ende.'];
export const SAID = WORDS.join('');

/** One event of a good stream. */
export interface Frame {
  bytes: Buffer;
  /** The text in it. */
  says: string;
  /** The gateway passes this text on. */
  passes: boolean;
  /** It says that the stream is whole. */
  ends: boolean;
  /** It gives the reason of each choice: the stream is whole, too, if its body ends as it should behind this. */
  mayEnd: boolean;
}

/** A good answer of a provider: its JSON, or the events of its stream. */
export function goodAnswer(lane: Lane, stream: boolean, n = 1): Frame[] {
  if (!stream) {
    const bytes = Buffer.from(JSON.stringify(lane === 'messages' ? message() : completion(n)));
    return [{ bytes, says: SAID, passes: true, ends: true, mayEnd: true }];
  }
  return lane === 'messages' ? messageEvents() : chunks(n);
}

/** An error that comes as an event. */
export function errorEvent(lane: Lane): Buffer {
  const error = { type: lane === 'messages' ? 'api_error' : 'server_error', message: 'canary' };
  const body = lane === 'messages' ? { type: 'error', error } : { error };
  return Buffer.from(`data: ${JSON.stringify(body)}\n\n`);
}

const shared = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'test-model' };
const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
const indexes = (n: number) => [...Array(n).keys()];

function completion(n: number) {
  const choices = indexes(n).map((index) => ({
    index,
    message: { role: 'assistant', content: SAID },
    finish_reason: 'stop',
  }));
  return { ...shared, object: 'chat.completion', choices, usage };
}

function chunks(n: number): Frame[] {
  const frame = (delta: object | undefined, says = '', finish_reason: string | null = null) => {
    const choices = delta ? indexes(n).map((index) => ({ index, delta, finish_reason })) : [];
    const chunk = { ...shared, object: 'chat.completion.chunk', choices };
    const told = { ...chunk, usage: delta ? null : usage };
    const bytes = Buffer.from(`data: ${JSON.stringify(told)}\n\n`);
    const mayEnd = finish_reason !== null;
    return { bytes, says, passes: delta !== undefined, ends: false, mayEnd };
  };
  return [
    frame({ role: 'assistant', content: '' }),
    ...WORDS.map((content) => frame({ content }, content)),
    frame({}, '', 'stop'),
    frame(undefined),
    { bytes: Buffer.from('data: [DONE]\n\n'), says: '', passes: false, ends: true, mayEnd: true },
  ];
}

const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'test-model' };

function message() {
  return {
    ...head,
    content: [{ type: 'text', text: SAID }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 5 },
  };
}

function messageEvents(): Frame[] {
  const frame = (event: { type: string; [field: string]: unknown }, says = '', ends = false) => ({
    bytes: Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    says,
    passes: says !== '' || ends,
    ends,
    mayEnd: ends,
  });
  const started = { ...message(), content: [], stop_reason: null };
  return [
    frame({ type: 'message_start', message: started }),
    frame({ type: 'ping' }),
    frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...WORDS.map((text) =>
      frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }, text),
    ),
    frame({ type: 'content_block_stop', index: 0 }),
    frame({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 5 },
    }),
    frame({ type: 'message_stop' }, '', true),
  ];
}
