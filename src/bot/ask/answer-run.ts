import type { Usage } from '../../contracts/gateway.ts';
import { counted, inWords } from '../shared/text-format.ts';
import { nameBeside } from './catalog.ts';

/** One answer under way: its limits in time, why it was cut, and what its footer says. */
export type AnswerRun = ReturnType<typeof createAnswerRun>;

const MAX_ANSWER_MS = 600_000;

/** A model as it is asked. */
interface AskedModel {
  /** In the catalog. */
  id: string;
  /** The provider's own name, if the gateway tells it. */
  name?: string;
  /** Shown beside the name, if it adds something. */
  role?: string | undefined;
}

/** Starts the clock of an answer; `signal` is the platform's. */
export function createAnswerRun(signal: AbortSignal | undefined, stallMs: number) {
  const controller = new AbortController();
  const askedAtMs = Date.now();
  let firstTextAtMs: number | undefined;
  const atEnd: Array<() => void> = [];
  let cutNote: string | undefined;
  let began: (AskedModel & { atMs: number }) | undefined;
  let answeredBy: string | undefined;
  let endedAtMs: number | undefined;
  /** What each call of the model used. */
  const used: Usage[] = [];
  /** Calls of the model that ended in look-ups: the next one is asked with what they gave. */
  let calling = 0;
  let lookups = 0;
  let stall: NodeJS.Timeout | undefined;
  let isStalled = false;

  const tokensUsed = () =>
    used.length === 0
      ? undefined
      : Object.values(used).reduce((sum, { total_tokens }) => sum + total_tokens, 0);

  /** See `lookupTokens` below. */
  function lookupTokensUsed() {
    if (lookups === 0 || used.length === 0) return undefined;
    return Object.entries(used).reduce((sum, [at, { prompt_tokens, completion_tokens }]) => {
      const round = Number(at);
      const again = round > 0 && round <= calling ? prompt_tokens : 0;
      return sum + again + (round < calling ? completion_tokens : 0);
    }, 0);
  }

  /** `183 tokens (150 prompt, 33 answer)`. */
  function tokensInWords(tokens: number): string {
    const answer = used.slice(calling).reduce((sum, one) => sum + (one?.completion_tokens ?? 0), 0);
    const lookup = lookupTokensUsed() ?? 0;
    const parts = [
      `${tokens - answer - lookup} prompt`,
      ...(lookup > 0 ? [`${lookup} look-ups`] : []),
      `${answer} answer`,
    ];
    return `${counted(tokens, 'token')} (${parts.join(', ')})`;
  }

  function cut(note: string) {
    cutNote ??= note;
    controller.abort();
  }
  const onAbort = () => cut('Stopped. Ask again for a full answer.');
  const whole = setTimeout(
    () => cut(`The answer took longer than ${inWords(MAX_ANSWER_MS)}, so it was stopped.`),
    MAX_ANSWER_MS,
  );
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { signal: controller.signal });

  return {
    /** Aborts when the answer is cut or over. */
    signal: controller.signal,
    cut,
    /** Why it was cut, in words for the person who asked. */
    get cutNote() {
      return cutNote;
    },
    /** It was cut because the model sent nothing. */
    get isStalled() {
      return isStalled;
    },
    began(model: AskedModel) {
      began = { ...model, atMs: performance.now() };
    },
    /** The gateway named the model that answered, which may be another than was expected. */
    answeredBy(name: string) {
      answeredBy = name;
    },
    /** What the call of this number has used so far. */
    used(usage: Usage, round = 0) {
      used[round] = usage;
    },
    /** From here the model must send text within the stall limit. */
    waits() {
      stall = setTimeout(() => {
        isStalled = cutNote === undefined;
        cut(
          `${began?.name ?? 'The model'} sent nothing for ${inWords(stallMs)}, so the answer was stopped. Ask again.`,
        );
      }, stallMs);
    },
    /** The time in which a platform shows text does not count. */
    shows() {
      clearTimeout(stall);
    },
    /** The model that was asked, once one is. */
    get model() {
      return began?.id;
    },
    /** Its text begins, if it has not. */
    says() {
      firstTextAtMs ??= Date.now();
    },
    /** When it was asked for and began, Unix time; it is whole now. */
    times: () => ({ askedAtMs, firstTextAtMs, wholeAtMs: Date.now() }),
    /** What it used, where the gateway has said that. */
    get tokens() {
      return tokensUsed();
    },
    /** Something was looked up for it. */
    looksUp() {
      lookups += 1;
    },
    get lookups() {
      return lookups;
    },
    /** The call of this number ended with functions to be called. */
    calls(round: number) {
      calling = round + 1;
    },
    /**
     * Of the tokens, those that there would not be without look-ups: what the model wrote to call functions, and each prompt
     * after the first, which is sent with what they gave. `undefined` where nothing was looked up, or no count came.
     */
    get lookupTokens() {
      return lookupTokensUsed();
    },
    /** The model by its own name, the time until the end of the answer, and what it used. */
    footer() {
      if (!began) return '';
      const seconds = (((endedAtMs ?? performance.now()) - began.atMs) / 1000).toFixed(1);
      const tokens = tokensUsed();
      const { name = began.id, role } = { ...began, ...(answeredBy && { name: answeredBy }) };
      return [
        nameBeside(name, role),
        `${seconds} s`,
        ...(tokens === undefined ? [] : [tokensInWords(tokens)]),
      ].join(' · ');
    },
    whenEnded(act: () => void) {
      atEnd.push(act);
    },
    /** Ends the call at the service and gives free whatever was held for it; again is harmless. */
    end() {
      endedAtMs ??= performance.now();
      clearTimeout(whole);
      clearTimeout(stall);
      controller.abort();
      for (const act of atEnd.splice(0)) act();
    },
  };
}
