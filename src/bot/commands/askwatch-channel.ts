import { z } from 'zod';
import { budgetInWords, readBudget } from '../ask/budgets.ts';
import { chatModels, isServed, nameBeside, nameOf } from '../ask/catalog.ts';
import { conversationKey } from '../ask/conversations.ts';
import { SYSTEM_PROMPT } from '../ask/write-answer.ts';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { toAsker, toEveryone } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import { mayManage } from '../shared/rights.ts';
import { inWords, shortened } from '../shared/text-format.ts';
import { type Call, command, optionalText } from './command.ts';

/** Removes the channel's own setting. */
const DEFAULT = 'default';
/** Shows the setting, as no value does where that opens a form. */
const SHOW = 'show';

const isWord = (text: string, word: string) => text.trim().toLowerCase() === word;

const isSet = (value: string | undefined): value is string =>
  value !== undefined && !isWord(value, SHOW);

const setting = (title: string, text: string) => toAsker(textCard('info', title, text));

const changed = (title: string, text: string) => toEveryone(textCard('good', title, text));

export const modelCommand = command({
  name: 'askwatch model',
  summary: 'Show or set the model that answers in this channel',
  group: 'set up',
  right: {
    ...mayManage("choose this channel's model", 'place'),
    when: ({ model }) => isSet(model),
  },
  input: z.object({
    model: optionalText(
      200,
      'A model from /askwatch models, or default; omitted, or show, shows the current one',
    ),
  }),
  examples: ['/askwatch model', '/askwatch model long-200k', '/askwatch model default'],
  form: {
    title: "This channel's model",
    send: 'Save',
    inputs: () => ['model'],
    required: ['model'],
    async begin({ channelDefaults, catalog, place }) {
      const { model: own } = await channelDefaults.of(place);
      const models = chatModels(await catalog.models());
      const names = models.filter((one) => isServed(one) || one.id === own).map(({ id }) => id);
      const standard = await catalog.chatModel().catch(() => undefined);
      const now = standard ? `, now ${standard.id}` : '';
      return {
        values: { model: own ?? DEFAULT },
        choices: { model: [DEFAULT, ...names] },
        hints: {
          model: `default is the model that Askwatch is set up with${now}. /askwatch models compares them.`,
        },
      };
    },
  },
  async run({ model }, { channelDefaults, catalog, place }) {
    if (!isSet(model)) {
      const { model: own } = await channelDefaults.of(place);
      const chosen = await catalog.chatModel(own);
      const text =
        own === undefined
          ? 'This is the default model.'
          : 'It was chosen for this channel. To return to the default: /askwatch model default';
      return setting(`${nameBeside(nameOf(chosen), chosen.id)} answers here`, text);
    }
    const isDefault = isWord(model, DEFAULT);
    const chosen = await catalog.chatModel(isDefault ? undefined : model);
    await channelDefaults.change(place, { model: isDefault ? null : chosen.id });
    return changed(
      `${nameBeside(nameOf(chosen), chosen.id)} answers here from now on`,
      'For another model in one question: /ask model=<name> <question>',
    );
  },
});

export const promptCommand = command({
  name: 'askwatch prompt',
  summary:
    'Show or set the instructions that the model gets before every conversation in this channel',
  group: 'set up',
  right: {
    ...mayManage("change this channel's prompt", 'place'),
    when: ({ prompt }) => isSet(prompt),
  },
  input: z.object({
    prompt: optionalText(4_000, 'The text, or default; omitted, or show, shows the current one'),
  }),
  examples: [
    '/askwatch prompt',
    '/askwatch prompt You help our shop assistants. Answer in Spanish.',
    '/askwatch prompt default',
  ],
  wholeLine: true,
  form: {
    title: "This channel's prompt",
    send: 'Save',
    inputs: () => ['prompt'],
    required: ['prompt'],
    long: ['prompt'],
    async begin(call) {
      const { prompt: own } = await call.channelDefaults.of(call.place);
      return {
        values: { prompt: own ?? standardPrompt(call) },
        hints: {
          prompt:
            'Instructions that the model gets before every conversation here. To return to the default, write default.',
        },
      };
    },
  },
  async run({ prompt }, call) {
    const { channelDefaults, place } = call;
    const standard = standardPrompt(call);
    if (!isSet(prompt)) {
      const { prompt: own } = await channelDefaults.of(place);
      const title =
        own === undefined ? 'This channel uses the default prompt' : "This channel's prompt";
      return setting(title, own ?? standard);
    }
    // The form contains the default unless a prompt is set.
    const isDefault = isWord(prompt, DEFAULT) || prompt.trim() === standard.trim();
    await channelDefaults.change(place, { prompt: isDefault ? null : prompt });
    return isDefault
      ? changed('This channel uses the default prompt again', standard)
      : changed("This channel's prompt has changed", prompt);
  },
});

export const budgetCommand = command({
  name: 'askwatch budget',
  summary: 'Show or set how many tokens this channel may use',
  group: 'set up',
  right: {
    ...mayManage("set this channel's budget", 'place'),
    when: ({ budget }) => isSet(budget),
  },
  input: z.object({
    budget: optionalText(
      60,
      'Such as 200k/day or 5M/month, or default for none; omitted, or show, shows the current one',
    ),
  }),
  examples: ['/askwatch budget', '/askwatch budget 200k/day', '/askwatch budget default'],
  wholeLine: true,
  async run({ budget: text }, { budgets, channelDefaults, place }) {
    if (!isSet(text)) {
      const now = await budgets.of(place);
      if (!now) {
        return setting('This channel has no token budget', 'Set one: /askwatch budget 200k/day');
      }
      return setting(
        `This channel may use ${budgetInWords(now.budget)}`,
        `${now.used.toLocaleString('en')} are used. The count resets in ${inWords(now.endsInMs)}.`,
      );
    }
    if (isWord(text, DEFAULT)) {
      await channelDefaults.change(place, { budget: null });
      return changed('Token budget removed', 'This channel may use any number of tokens.');
    }
    const budget = readBudget(text);
    if (!budget) {
      throw new CommandError(
        `I didn’t understand “${shortened(text, 60)}”. A budget is at least 1,000 tokens a day or month, such as 200k/day or 5M/month.`,
      );
    }
    await channelDefaults.change(place, { budget });
    return changed(
      `This channel may use ${budgetInWords(budget)} from now on`,
      'An answer that has started may go slightly over it. Days and months start at 00:00 UTC.',
    );
  },
});

export const forgetCommand = command({
  name: 'askwatch forget',
  summary: 'Forget the conversation in this thread; type it inside the thread',
  group: 'ask',
  right: 'anyone',
  input: z.object({}),
  examples: ['/askwatch forget'],
  async run(_input, { ask, conversations, features, invocation: { place, thread } }) {
    if (thread === undefined) {
      throw new CommandError(
        'Type this inside the thread to forget. If slash commands don’t work there, mention Askwatch: @Askwatch /askwatch forget',
      );
    }
    // The thread would remember the answer when it ends.
    if (ask.isAnswering(place, thread)) {
      throw new CommandError(
        'An answer is being written in this thread. Wait for it or press Stop, then try again.',
      );
    }
    const turns = await conversations.forget(conversationKey(place, thread));
    for (const one of features.all) await one.forgetThread?.({ place: placeKey(place), thread });
    return changed(
      turns === 0 ? 'There was nothing to forget' : 'This thread is forgotten',
      'The next question here starts a new conversation. Ratings of answers in this thread are deleted, too.',
    );
  },
});

const standardPrompt = ({ settings }: Pick<Call, 'settings'>) =>
  settings.askSystemPrompt ?? SYSTEM_PROMPT;
