import type { Logger } from 'pino';
import { askAboutCommand } from '../../bot/commands/ask-about.ts';
import type { Bot } from '../../bot/platform.ts';
import type { Person, Place } from '../../bot/shared/place.ts';
import { shortened } from '../../bot/shared/text-format.ts';
import { explainFailure, readFailure } from '../api/call-failure.ts';
import { renderNote } from '../render/render-answer.ts';
import { renderForm } from '../render/render-form.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import type { ChosenMessage } from './parse-events.ts';

/** A third of the three seconds in which a form must open, for the names in the message. */
const NAMES_MS = 1_000;

/** A form carries 3,000 characters, and ten files take most of them. */
const MAX_AUTHOR = 80;
const MAX_NAME = 60;

/** Opens the form for a question about a message, or says why not. The form carries the message's text. Never throws. */
export async function openAskAbout(
  { client, people, respond, showCard }: Workspace,
  { trigger, channel, ts, thread, message, responseUrl }: ChosenMessage,
  {
    bot,
    place,
    person,
    log,
  }: { bot: Pick<Bot, 'openForm'>; place: Place; person: Person; log: Logger },
): Promise<void> {
  async function tell(show: (address: string) => Promise<unknown>) {
    try {
      if (responseUrl !== undefined) await show(responseUrl);
    } catch (error) {
      log.debug({ err: error }, 'could not tell the person about it either');
    }
  }
  const [{ author, text, files = [] }, opened] = await Promise.all([
    people.chosen(message, AbortSignal.timeout(NAMES_MS)),
    bot.openForm(askAboutCommand, { place, person }),
  ]);
  if ('card' in opened) {
    const { card } = opened;
    return await tell((to) => showCard(card, (content) => respond(to, content, 'ephemeral')));
  }
  const about = {
    ts,
    author: shortened(author, MAX_AUTHOR),
    ...(thread && { thread }),
    ...(files.length > 0 && {
      files: files.map(({ name, ref }) => ({ id: ref.id ?? '', name: shortened(name, MAX_NAME) })),
    }),
  };
  const origin = {
    command: askAboutCommand.name,
    channel,
    about,
    ...(responseUrl && { responseUrl }),
  };
  try {
    const view = renderForm(askAboutCommand, origin, { begin: opened.begin, about: text });
    await client.views.open({ trigger_id: trigger, view });
  } catch (error) {
    log.warn({ reason: readFailure(error).code }, 'could not open a form');
    const note = `Slack couldn’t open the form. ${explainFailure(error)} Choose it again.`;
    await tell((to) => respond(to, renderNote(note), 'ephemeral'));
  }
}
