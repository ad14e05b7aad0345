import { z } from 'zod';
import { SYSTEM_PROMPT } from './ask.ts';
import type { Call } from './bot.ts';
import type { Card } from './card.ts';
import { command } from './command.ts';
import { CommandError } from './errors.ts';
import type { Reply } from './platform.ts';
import { requireRight } from './rights.ts';

/** What takes a channel's own choice back. */
const DEFAULT = 'default';

/** `/askwatch model`: the model that answers in this channel when none is named. */
export const modelCommand = command({
  name: 'askwatch model',
  summary: 'The model that answers in this channel; with a name, sets it',
  input: z.object({
    model: z
      .string()
      .max(200)
      .optional()
      .describe('A model of /askwatch models, or default; shows the one set when left out'),
  }),
  examples: ['/askwatch model', '/askwatch model long-200k', '/askwatch model default'],
  async run({ model }, call) {
    const { asking, catalog, place, settings } = call;
    if (model === undefined) {
      const { model: own } = await asking.of(place);
      const { id } = await catalog.chatModel(own ?? settings.askModel);
      const text =
        own === undefined
          ? 'Nobody has chosen one for this channel.'
          : 'It was chosen for this channel; /askwatch model default takes that back.';
      return shown(`${id} answers here`, text);
    }
    await mayManage(call, 'choose the model of this channel');
    const isDefault = model.toLowerCase() === DEFAULT;
    const { id } = await catalog.chatModel(isDefault ? settings.askModel : model);
    await asking.change(place, { model: isDefault ? null : id });
    return said(
      `${id} answers here from now on`,
      'Whoever wants another one once: /ask model=<name> <question>',
    );
  },
});

/** `/askwatch prompt`: what the model is told before every conversation of this channel. */
export const promptCommand = command({
  name: 'askwatch prompt',
  summary: 'What the model is told before every conversation in this channel; with a text, sets it',
  input: z.object({
    prompt: z
      .string()
      .max(4_000)
      .optional()
      .describe('The text, or default; shows the one set when left out'),
  }),
  examples: [
    '/askwatch prompt',
    '/askwatch prompt You help the people of our shop. Answer in Spanish.',
    '/askwatch prompt default',
  ],
  wholeLine: true,
  async run({ prompt }, call) {
    const { asking, place, settings } = call;
    const standard = settings.askSystemPrompt ?? SYSTEM_PROMPT;
    if (prompt === undefined) {
      const { prompt: own } = await asking.of(place);
      return shown(
        own === undefined ? 'This channel has no prompt of its own' : 'The prompt of this channel',
        own ?? standard,
      );
    }
    await mayManage(call, 'change the prompt of this channel');
    if (prompt.trim() === '') throw new CommandError('A prompt needs words.');
    const isDefault = prompt.toLowerCase() === DEFAULT;
    await asking.change(place, { prompt: isDefault ? null : prompt });
    return said('Prompt of this channel changed', isDefault ? standard : prompt);
  },
});

/** `/askwatch forget`: the thread goes on, without what was said in it. */
export const forgetCommand = command({
  name: 'askwatch forget',
  summary: 'Forget what was said in this thread; say it inside the thread',
  input: z.object({}),
  examples: ['/askwatch forget'],
  async run(_input, { ask, invocation: { place, thread } }) {
    if (thread === undefined) {
      throw new CommandError(
        'This forgets one thread: say it inside that thread. Where a slash command cannot be typed there, mention Askwatch first: @Askwatch /askwatch forget.',
      );
    }
    const turns = await ask.forget(place, thread);
    return said(
      turns === 0 ? 'There was nothing to forget' : 'This thread is forgotten',
      'The next question here is answered as if it were the first.',
    );
  },
});

async function mayManage({ person, place, settings }: Call, what: string) {
  await requireRight(settings.mayManage, { person, place, what });
}

const shown = (title: string, text: string): Reply => ({
  kind: 'card',
  private: true,
  card: cardOf('info', title, text),
});

const said = (title: string, text: string): Reply => ({
  kind: 'card',
  private: false,
  card: cardOf('good', title, text),
});

const cardOf = (tone: Card['tone'], title: string, text: string): Card => ({
  tone,
  title,
  parts: [{ kind: 'text', text }],
});
