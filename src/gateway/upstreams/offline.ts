import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatMessage,
  type ChatRequest,
  OFFLINE_PROVIDER,
} from '../../contracts/gateway.ts';
import { estimatePromptTokens } from '../../contracts/tokens.ts';
import type { Upstream } from './upstream.ts';

/** Pause between two words of a streamed answer: fast to read, and slow enough to show that it streams. */
const WORD_PAUSE_MS = 8;

/** Parameters that only a language model can follow. */
const IGNORED_PARAMETERS = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logit_bias',
  'tools',
  'response_format',
];

const UNREAD_PARTS = ['file', 'input_audio'];

const QUESTION_LENGTH = 300;
const EARLIER_LENGTH = 120;
const EARLIER_QUESTIONS = 3;

/**
 * Answers if no provider is connected. It says that it isn't a language model and how to connect one, and repeats the
 * questions of the thread, so that everything around a real model can be tried. The same conversation always gets the same
 * answer; one token is one word.
 */
export const offlineEngine: Upstream = {
  provider: OFFLINE_PROVIDER,
  model: 'offline',
  label: `${OFFLINE_PROVIDER}/offline`,
  maxChoices: 128,
  dropped: (request) => [
    ...IGNORED_PARAMETERS.filter((name) => request[name] != null),
    ...UNREAD_PARTS.filter((kind) => holds(request, kind)).map(
      (kind) => `messages.content.${kind}`,
    ),
  ],
  async complete(request) {
    const { words, finish_reason } = write(request);
    return {
      ...envelope(request),
      object: 'chat.completion',
      choices: indexes(request).map((index) => ({
        index,
        message: { role: 'assistant', content: words.join('') },
        finish_reason,
      })),
      usage: usageOf(request, words),
    } satisfies ChatCompletion;
  },
  async *stream(request, signal) {
    const { words, finish_reason } = write(request);
    const shared = { ...envelope(request), object: 'chat.completion.chunk' as const };
    const chunk = (
      delta: ChatCompletionChunk['choices'][number]['delta'],
      finish: string | null = null,
    ): ChatCompletionChunk[] =>
      indexes(request).map((index) => ({
        ...shared,
        choices: [{ index, delta, finish_reason: finish }],
      }));
    yield* chunk({ role: 'assistant', content: '' });
    for (const word of words) {
      await pause(WORD_PAUSE_MS, undefined, { signal });
      yield* chunk({ content: word });
    }
    yield* chunk({}, finish_reason);
    yield { ...shared, choices: [], usage: usageOf(request, words) };
  },
};

function holds({ messages }: ChatRequest, kind: string): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ type }) => type === kind),
  );
}

function envelope({ model }: ChatRequest) {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
}

function indexes({ n }: ChatRequest): number[] {
  return [...Array(n ?? 1).keys()];
}

function usageOf(request: ChatRequest, words: string[]) {
  const prompt_tokens = estimatePromptTokens(request.messages);
  const completion_tokens = words.length * (request.n ?? 1);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Returns the words of the answer, each with the space before it, cut by `stop` and `max_tokens`. */
function write(request: ChatRequest): { words: string[]; finish_reason: string } {
  const text = cutAtStop(compose(request.messages), request.stop ?? []);
  const words = text.match(/\s*\S+/g) ?? [];
  const most = request.max_tokens ?? words.length;
  return words.length > most
    ? { words: words.slice(0, most), finish_reason: 'length' }
    : { words, finish_reason: 'stop' };
}

function cutAtStop(text: string, stop: string | string[]): string {
  const ends = [stop].flat().map((sequence) => text.indexOf(sequence));
  return text.slice(0, Math.min(text.length, ...ends.filter((end) => end !== -1)));
}

function compose(messages: readonly ChatMessage[]): string {
  const questions = messages.filter(({ role }) => role === 'user');
  const earlier = questions.slice(0, -1);
  return [
    "This is the built-in offline engine of Askwatch. It isn't a language model and can't answer this. It is here so you can see that everything else works.",
    asked(questions.at(-1)),
    ...(earlier.length > 0 ? [remembered(earlier)] : []),
    'To get real answers, set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` (docs/settings.md lists the others), or start Ollama on this machine, and restart Askwatch.',
  ].join('\n\n');
}

function asked(question: ChatMessage | undefined): string {
  if (!question) return 'You have not asked anything yet.';
  const pictures = picturesIn(question);
  const seen = pictures === 0 ? '' : ` You also sent ${count(pictures, 'image')}.`;
  return `You asked: “${quote(question, QUESTION_LENGTH)}”${seen}`;
}

function remembered(earlier: ChatMessage[]): string {
  const shown = earlier.slice(-EARLIER_QUESTIONS);
  const list = shown.map((question) => `“${quote(question, EARLIER_LENGTH)}”`).join(', then ');
  const before = earlier.length - shown.length;
  const more = before === 0 ? '' : `${count(before, 'other question')}, then `;
  return `Earlier in this conversation you asked: ${more}${list}.`;
}

function quote({ content }: ChatMessage, length: number): string {
  const text =
    typeof content === 'string'
      ? content
      : (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join(' ');
  const letters = [
    ...text
      .slice(0, length * 4)
      .replace(/\s+/g, ' ')
      .trim(),
  ];
  return letters.length > length ? `${letters.slice(0, length).join('')}…` : letters.join('');
}

function picturesIn({ content }: ChatMessage): number {
  return typeof content === 'string'
    ? 0
    : (content ?? []).filter(({ type }) => type === 'image_url').length;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
