import type { ChatCompletionChunk } from '../../contracts/gateway.ts';
import { dataEvent } from '../../contracts/server-sent-events.ts';
import type { UsageMeter } from '../usage/ledger.ts';

/** Writes the chunks of an answer as events under the client's name for the model, and meters them. */
export class ChunkEvents {
  readonly #model: string;
  readonly #wantsUsage: boolean;
  readonly #meter: UsageMeter;
  #lastChunk: ChatCompletionChunk | undefined;
  #hasUsage = false;

  constructor(options: {
    /** The catalog's id, which replaces the provider's name for the model. */
    model: string;
    /** The client asked for the usage; otherwise it is left out. */
    wantsUsage: boolean;
    meter: UsageMeter;
  }) {
    this.#model = options.model;
    this.#wantsUsage = options.wantsUsage;
    this.#meter = options.meter;
  }

  /** Returns the event for a chunk; empty if the client has no use for it. */
  eventFor(chunk: ChatCompletionChunk): string {
    this.#lastChunk = chunk;
    for (const { delta } of chunk.choices) this.#meter.addText(delta.content ?? '');
    const { usage, ...rest } = { ...chunk, model: this.#model };
    if (usage) {
      this.#meter.usage = usage;
      this.#hasUsage = true;
    }
    if (this.#wantsUsage) return dataEvent({ ...rest, usage: usage ?? null });
    return rest.choices.length > 0 ? dataEvent(rest) : '';
  }

  /** Returns the event with our estimate of the usage; empty if the client has it already or doesn't want it. */
  usageEvent(): string {
    if (!this.#wantsUsage || this.#hasUsage || !this.#lastChunk) return '';
    const usage = this.#meter.tokens();
    return dataEvent({ ...this.#lastChunk, model: this.#model, choices: [], usage });
  }
}
