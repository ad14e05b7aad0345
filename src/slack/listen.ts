import type { App, webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import type { Bot } from '../bot/bot.ts';
import { createForms } from './forms.ts';
import { hearCommand, hearMessage, type MessageEvent, type Said, type Self } from './hear.ts';
import { hearPress } from './hear-press.ts';
import { topLevelNames } from './manifest.ts';
import { escapeText } from './text.ts';

/** Hands what people say in Slack to `converse`, and leaves out what was not said to the bot. */
export function listen(
  app: App,
  options: {
    client: webApi.WebClient;
    bot: Bot;
    self: Self;
    log: Logger;
    converse(said: Said): void;
  },
): void {
  const { bot, self, log, converse } = options;
  const forms = createForms(app, options);
  const names = topLevelNames(bot.commands);
  const commands = new Set(names);

  for (const name of names) {
    app.command(`/${name}`, async ({ ack, command }) => {
      // Slack shows an error to the person after three seconds, so nothing comes before this.
      await ack();
      if (!(await forms.open(command))) converse(hearCommand(command));
    });
  }

  // Bolt leaves a command that nobody listens to unanswered; all but ours, since every matching listener runs.
  app.command(new RegExp(`^/(?!(?:${names.join('|')})$)`), async ({ ack, command }) => {
    const known = names.map((name) => `/${name}`).join(', ');
    const text = `Askwatch does not know ${escapeText(command.command)}. It knows ${known}.`;
    await ack({ response_type: 'ephemeral', text });
  });

  async function onMessage(event: MessageEvent): Promise<void> {
    const said = hearMessage(event, self, commands);
    if (!said) return;
    const { place, thread } = said.invocation;
    if (said.addressed) return converse(said);
    if (!said.inThread || thread === undefined) return;
    if (await bot.isConversation(place, thread)) converse(said);
    else log.trace({ channel: place.channel }, 'a message in a thread that is not ours');
  }

  // Every button, not ours alone: Slack shows the person a warning where nobody answers.
  app.action({ type: 'block_actions' }, async ({ ack, body }) => {
    await ack();
    if (await forms.change(body)) return;
    const said = hearPress(body);
    if (said) converse(said);
    else log.debug('a press of something that is no button of ours');
  });

  app.event('app_mention', ({ event }) => onMessage(event));
  app.event('message', ({ event }) => onMessage(event as MessageEvent));
}
