import { z } from 'zod';
import { chatModels, isServed } from '../ask/catalog.ts';
import { CommandError } from '../shared/errors.ts';
import { QUESTION_ABOUT } from '../shared/people-messages.ts';
import { command, optionalText } from './command.ts';

/** Entry in the menu of a message, which opens a form. */
export const ASK_ABOUT = {
  label: 'Ask about this message',
  /** Source: Slack docs, "Reference: App manifest", "features.shortcuts". */
  id: 'ask_about_message',
  summary: 'Have Askwatch explain a message, or answer a question about it',
} as const;

const DEFAULT = 'default';

/** Asks about the message in `Invocation.about`. */
export const askAboutCommand = command({
  name: 'ask about',
  summary: ASK_ABOUT.summary,
  right: 'anyone',
  input: z.object({
    // Source: Slack docs, "Plain-text input element", `max_length`.
    question: optionalText(3_000, 'What you want to know; default: an explanation or summary'),
    model: optionalText(200, 'A model from /askwatch models'),
    private: z
      .enum(['no', 'yes'])
      .optional()
      .describe('yes: only you see the answer; no: it goes to the thread of the message'),
  }),
  form: {
    title: 'Ask about a message',
    send: 'Ask',
    inputs: () => ['question', 'model', 'private'],
    long: ['question'],
    async begin({ channelDefaults, catalog, place }) {
      // Without the catalog, the channel's model can still answer.
      const models = await catalog.models().catch(() => []);
      const names = chatModels(models)
        .filter(isServed)
        .map(({ id }) => id);
      const { model: own } = await channelDefaults.of(place);
      const standard = await catalog.chatModel(own).catch(() => undefined);
      return {
        values: { model: DEFAULT, private: 'no' },
        choices: { model: [DEFAULT, ...names] },
        hints: standard && { model: `default is ${standard.id} here` },
      };
    },
  },
  async run({ question, model, private: only }, { ask, handling, invocation, place, person }) {
    const { about, around } = invocation;
    if (!about) {
      throw new CommandError('Askwatch no longer has the message. Choose it again and ask.');
    }
    const words = question?.trim() ?? '';
    return ask.answer({
      ...{ handling, place, person, around },
      about: [about],
      question: words === '' ? QUESTION_ABOUT : words,
      model: model === DEFAULT ? undefined : model,
      private: only === 'yes',
    });
  },
});
