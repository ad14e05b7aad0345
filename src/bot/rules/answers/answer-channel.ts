import { bold, plain } from '../../shared/inert-markdown.ts';
import { answerOf } from './parts.ts';
import type { Speech } from './speech.ts';

/** What `get_channel_alerts` gives. */
interface GivenAlerts {
  hears: string;
  hears_every_alert: boolean;
}

/** What `get_usage` gives. */
interface GivenUsage {
  from: string;
  to: string;
  answers: number;
  tokens: number;
  by_person: Array<{ name: string; answers: number; tokens: number }>;
}

/** People that the tool tells at most. */
const MAX_PEOPLE = 20;
/** A channel can have many filters. */
const MAX_HEARS = 1_500;

type Answer = (output: Record<string, unknown>, speech: Speech) => string;

/** What a channel hears, in the sentences of its settings, which are English. */
export const answerAlerts: Answer = (output, { words }) => {
  const { hears, hears_every_alert } = output as unknown as GivenAlerts;
  const sentences = words.hears(plain(hears, MAX_HEARS));
  return hears_every_alert ? `${sentences}\n\n${words.hearsEveryAlert}` : sentences;
};

/** Who asked how much. */
export const answerUsage: Answer = (output, speech) => {
  const { from, to, answers, tokens, by_person } = output as unknown as GivenUsage;
  const { words, number } = speech;
  const both = (one: { answers: number; tokens: number }) =>
    [
      words.answers(one.answers, number(one.answers)),
      words.tokens(one.tokens, number(one.tokens)),
    ] as const;
  const rows = by_person.map((person) => `${bold(person.name)}: ${both(person).join(', ')}`);
  return answerOf(
    words.used(...both({ answers, tokens }), speech.span(from, to)),
    { rows, atLeast: by_person.length >= MAX_PEOPLE },
    speech,
  );
};
