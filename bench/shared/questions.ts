import type { ModelProvider, ProviderCall } from '../../test/fakes/model-provider.ts';

/** A question that was asked, alone in its channel. */
export interface Question {
  number: number;
  channel: string;
}

/** Questions and the model's answers. */
export interface Questions {
  /** The time before each chunk of every answer from now on, those under way too. */
  pace(chunkMs: number): void;
  /** Notes a question; its answer begins with a mark of its own and goes on as told. */
  add(chunks: string[]): { number: number; text: string };
  /** The call of a question at the gateway; undefined before it came. */
  callOf(question: Question): ProviderCall | undefined;
}

/** A bed whose program answers questions. */
export interface AskedBed extends Pick<Questions, 'pace' | 'callOf'> {
  pid: number;
  /** Asks in a new channel. */
  ask(options: { chunks: string[] }): Promise<Question>;
  /** Waits until the last view of each answer is shown. */
  shown(questions: readonly Question[]): Promise<void>;
  /** Waits; throws when it takes too long, or the program has ended. */
  until(what: string, condition: () => boolean): Promise<void>;
  stop(): Promise<void>;
}

const questionText = (number: number) => `This is question ${number} of the bench.`;

/** The first words of an answer, as they are shown. */
export const markOf = ({ number }: { number: number }) => `Answer ${number}.`;

/** Which question a call at the gateway is about. */
function numberIn(body: { messages: Array<{ content: unknown }> }): number {
  const last = JSON.stringify(body.messages.at(-1)?.content);
  return Number(/question (\d+) of the bench/.exec(last)?.[1]);
}

export function createQuestions(provider: ModelProvider): Questions {
  const answers = new Map<number, string[]>();
  const script = (body: Parameters<typeof numberIn>[0]) => answers.get(numberIn(body)) ?? [];
  const calls = new Map<number, ProviderCall>();
  let noted = 0;
  return {
    pace: (chunkMs) => provider.answerWith(script, { chunkMs }),
    add(chunks) {
      const number = answers.size + 1;
      answers.set(number, [`${markOf({ number })} `, ...chunks]);
      return { number, text: questionText(number) };
    },
    callOf({ number }) {
      for (const call of provider.calls.slice(noted)) calls.set(numberIn(call.body), call);
      noted = provider.calls.length;
      return calls.get(number);
    },
  };
}
