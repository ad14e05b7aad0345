import { z } from 'zod';
import { chatModels, isServed } from '../ask/catalog.ts';
import { CommandError } from '../shared/errors.ts';
import { QUESTION_ABOUT } from '../shared/people-messages.ts';
import { command, optionalText } from './command.ts';

/** What people choose from the menu of a message, and where the form that it opens begins. */
export const ASK_ABOUT = {
  label: 'Ask about this message',
  /** Source: Slack docs, "Reference: App manifest", "features.shortcuts". */
  id: 'ask_about_message',
  summary: 'Have Askwatch explain a message, or answer a question about it',
} as const;

const DEFAULT = 'default';

/** Asks about a message that somebody chose, `Invocation.about`, as `/ask` asks. */
export const askAboutCommand = command({
  name: 'ask about',
  summary: ASK_ABOUT.summary,
  right: 'anyone',
  input: z.object({
    // The longest that a form of Slack's takes.
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
      // Who gets no list of models gets the one of the channel.
      const known = await catalog.models().catch(() => []);
      const names = chatModels(known)
        .filter(isServed)
        .map(({ id }) => id);
      const { model: own } = await channelDefaults.of(place);
      const standard = await catalog.chatModel(own).catch(() => undefined);
      return {
        values: { model: DEFAULT, private: 'no' },
        choices: { model: [DEFAULT, ...names] },
        ...(standard && { hints: { model: `default is ${standard.id} here` } }),
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
