import type { Usage } from '../../contracts/gateway.ts';
import { counted, inWords } from '../shared/text-format.ts';
import { nameBeside } from './catalog.ts';

const MAX_ANSWER_MS = 600_000;

/** The model that an answer is requested from. */
interface RequestedModel {
  /** In the catalog. */
  id: string;
  /** The provider's own name, if the gateway sends it. */
  name?: string;
  /** Shown next to the name if it adds something. */
  role?: string;
}

/**
 * The clock, limits and figures of one answer, from the question to its end:
 *
 * - waiting: its thread is busy, or files and facts are being collected. The platform's signal can end it.
 * - generating, from `startModel`: the stall timer runs whenever the model is to send something.
 * - cut, from `cut`: the signal is aborted and `cutNote` says why. The first note counts. Causes: the platform's signal, the
 *   Stop button, a model that stalls or is too slow, and `Ask.stop` or `Ask.cutAll`.
 * - ended, from `end`: whole, failed or cut. Timers are off and everything that waits for the end has run.
 */
export class AnswerRun {
  private readonly controller = new AbortController();
  private readonly stallMs: number;
  private readonly askedAtMs = Date.now();
  private readonly maxTimer: NodeJS.Timeout;
  private readonly endListeners: Array<() => void> = [];
  private stallTimer: NodeJS.Timeout | undefined;
  private firstTextAtMs: number | undefined;
  private endedAtMs: number | undefined;
  private requested: (RequestedModel & { startedAtMs: number }) | undefined;
  private upstreamName: string | undefined;
  /** By round. A round that reported no usage is a hole. */
  private readonly usages: Usage[] = [];
  /** Rounds that ended in tool calls: each next prompt contains the results. */
  private toolRounds = 0;
  private lookupCount = 0;
  private note: string | undefined;
  private stalled = false;

  /** Starts the clock. `stallMs` is the only limit on how long a model may send nothing. */
  constructor(signal: AbortSignal | undefined, stallMs: number) {
    this.stallMs = stallMs;
    this.maxTimer = setTimeout(
      () => this.cut(`The answer took longer than ${inWords(MAX_ANSWER_MS)}, so it was stopped.`),
      MAX_ANSWER_MS,
    );
    const onAbort = () => this.cut('Stopped. Ask again for a full answer.');
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { signal: this.signal });
  }

  /** Aborts when the answer is cut or ends. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The reason for the cut, for the person who asked. */
  get cutNote(): string | undefined {
    return this.note;
  }

  /** True if the answer was cut because the model sent nothing. */
  get isStalled(): boolean {
    return this.stalled;
  }

  /** The catalog id of the requested model. */
  get model(): string | undefined {
    return this.requested?.id;
  }

  get lookups(): number {
    return this.lookupCount;
  }

  /** All tokens of the answer; `undefined` if the gateway reported none. */
  get tokens(): number | undefined {
    if (this.usages.length === 0) return undefined;
    return Object.values(this.usages).reduce((sum, { total_tokens }) => sum + total_tokens, 0);
  }

  /**
   * Tokens that look-ups cost: the model's tool calls, and each prompt after the first, which contains the results.
   * `undefined` without look-ups or counts.
   */
  get lookupTokens(): number | undefined {
    if (this.lookupCount === 0 || this.usages.length === 0) return undefined;
    return Object.entries(this.usages).reduce((sum, [key, usage]) => {
      const round = Number(key);
      const prompt = round > 0 && round <= this.toolRounds ? usage.prompt_tokens : 0;
      const calls = round < this.toolRounds ? usage.completion_tokens : 0;
      return sum + prompt + calls;
    }, 0);
  }

  cut(note: string): void {
    this.note ??= note;
    this.controller.abort();
  }

  startModel(model: RequestedModel): void {
    this.requested = { ...model, startedAtMs: performance.now() };
  }

  /** The gateway says which model answers; it may be another than the requested one. */
  setUpstreamName(name: string): void {
    this.upstreamName = name;
  }

  /** Replaces the usage of a round: providers repeat growing counts. */
  recordUsage(usage: Usage, round = 0): void {
    this.usages[round] = usage;
  }

  recordToolRound(round: number): void {
    this.toolRounds = round + 1;
  }

  countLookup(): void {
    this.lookupCount += 1;
  }

  markText(): void {
    this.firstTextAtMs ??= Date.now();
  }

  /** From now on the model must send something within the stall limit. */
  startStallTimer(): void {
    this.stallTimer = setTimeout(() => {
      this.stalled = this.note === undefined;
      const model = this.requested?.name ?? 'The model';
      this.cut(
        `${model} sent nothing for ${inWords(this.stallMs)}, so the answer was stopped. Ask again.`,
      );
    }, this.stallMs);
  }

  /** The time in which a platform shows text doesn't count. */
  stopStallTimer(): void {
    clearTimeout(this.stallTimer);
  }

  /** Unix times for feedback; read when the answer is whole. */
  times() {
    const { askedAtMs, firstTextAtMs } = this;
    return { askedAtMs, firstTextAtMs, wholeAtMs: Date.now() };
  }

  /** `gpt-5-mini · 2.1 s · 183 tokens (150 prompt, 33 answer)`. */
  footer(): string {
    if (!this.requested) return '';
    const { id, name, role, startedAtMs } = this.requested;
    const seconds = ((this.endedAtMs ?? performance.now()) - startedAtMs) / 1000;
    const parts = [nameBeside(this.upstreamName || name || id, role), `${seconds.toFixed(1)} s`];
    if (this.tokens !== undefined) parts.push(this.tokensInWords(this.tokens));
    return parts.join(' · ');
  }

  private tokensInWords(tokens: number): string {
    const answer = this.usages
      .slice(this.toolRounds)
      .reduce((sum, usage) => sum + (usage?.completion_tokens ?? 0), 0);
    const lookup = this.lookupTokens ?? 0;
    const lookups = lookup > 0 ? `${lookup} look-ups, ` : '';
    const prompt = tokens - answer - lookup;
    return `${counted(tokens, 'token')} (${prompt} prompt, ${lookups}${answer} answer)`;
  }

  onEnd(listener: () => void): void {
    this.endListeners.push(listener);
  }

  /** Ends the call at the service and releases everything held for the answer. Ending twice is harmless. */
  end(): void {
    this.endedAtMs ??= performance.now();
    clearTimeout(this.maxTimer);
    clearTimeout(this.stallTimer);
    this.controller.abort();
    for (const listener of this.endListeners.splice(0)) listener();
  }
}
