import type { Logger } from 'pino';
import { HOME_FORM, type HomeOwner } from '../../bot/home/home.ts';
import type { Bot } from '../../bot/platform.ts';
import { type Card, textCard, textPart } from '../../bot/shared/card.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import { type Person, type Place, placeKey } from '../../bot/shared/place.ts';
import type { UserInput } from '../answers/user-input.ts';
import { explainFailure, readFailure } from '../api/call-failure.ts';
import { renderCard } from '../render/render-card.ts';
import { isShowable, renderForm } from '../render/render-form.ts';
import { type HomeNotice, renderHome } from '../render/render-home.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { createHomePages } from './home-pages.ts';
import { type HomePress, parseHomePress } from './parse-events.ts';

/** Shows a home to whoever opens the tab, and again when something was changed from there. */
export function createHome(options: { workspaces: Workspaces; bot: Bot; log: Logger }) {
  const { workspaces, bot, log } = options;
  const pages = createHomePages();

  /** Slack's id of a channel; undefined for one of another workspace. */
  async function channelIn(workspace: Workspace, name: string): Promise<string | undefined> {
    try {
      const at = await workspaces.at(name);
      return at.workspace === workspace ? at.channel : undefined;
    } catch (error) {
      if (error instanceof DeliveryError) return undefined;
      throw error;
    }
  }

  /** The owner of a home, and the ids of the channels that it shows. */
  function ownerIn(workspace: Workspace, person: Person) {
    const standing = workspace.rightsOf(person);
    const channels = new Map<string, string>();
    const owner: HomeOwner = {
      platform: 'slack',
      id: person.id,
      async at({ channel: name }) {
        const channel = await channelIn(workspace, name);
        if (channel === undefined) return undefined;
        channels.set(name, channel);
        return standing(channel);
      },
    };
    return { owner, channelOf: ({ channel }: Place) => channels.get(channel) ?? channel };
  }

  async function show(workspace: Workspace, person: Person, notice?: HomeNotice): Promise<void> {
    try {
      await pages.publish(
        { workspace, person: person.id },
        async (shown) => {
          const { owner, channelOf } = ownerIn(workspace, person);
          return renderHome(await bot.homes.of(owner), { notice: shown, channelOf });
        },
        notice,
      );
    } catch (error) {
      log.warn({ reason: readFailure(error).code }, 'could not show a home');
      await workspace.checkAccess(error);
    }
  }

  async function openForm(workspace: Workspace, press: HomePress): Promise<void> {
    const { person, trigger, values } = press;
    const { owner, channelOf } = ownerIn(workspace, person);
    const opened = await bot.homes.open(owner, values);
    if ('card' in opened) return await show(workspace, person, opened);
    const { command, place, begin } = opened;
    const channel = channelOf(place);
    if (!isShowable(begin)) {
      return await show(workspace, person, { channel, card: tooLong(command.name) });
    }
    const view = renderForm(command, { command: command.name, channel, home: true }, { begin });
    try {
      await workspace.client.views.open({ trigger_id: trigger, view });
    } catch (error) {
      log.warn({ reason: readFailure(error).code }, 'could not open a form');
      await show(workspace, person, { channel, card: NOT_OPENED });
    }
  }

  async function change(workspace: Workspace, input: UserInput): Promise<void> {
    const { invocation } = input;
    const { place, person, request } = invocation;
    const { owner } = ownerIn(workspace, person);
    const form = 'command' in request ? request.command : undefined;
    // Asked again: the form comes from outside, and time has passed.
    const allowed = await bot.homes.open(owner, { form, place: placeKey(place) });
    const reply =
      'card' in allowed
        ? { kind: 'card' as const, card: allowed.card, private: true }
        : await bot.dispatch(invocation);
    if (reply.kind !== 'card') return;
    const { channel } = input;
    await show(workspace, person, { channel, card: reply.card });
    if (reply.private) return;
    const problem = await postInChannel(workspace, { input, card: reply.card });
    if (problem) await show(workspace, person, { channel, card: withNote(reply.card, problem) });
  }

  /** Tells the channel what was changed for it elsewhere; what hinders that is given back in words. */
  async function postInChannel(
    { messages, checkAccess }: Workspace,
    { input, card }: { input: UserInput; card: Card },
  ): Promise<string | undefined> {
    const { channel, invocation } = input;
    const footer = `Changed by ${invocation.person.name} in the Askwatch home`;
    try {
      const content = renderCard({ ...card, footer });
      await messages.post({ channel }, content, `${invocation.id}/card`);
      return undefined;
    } catch (error) {
      log.warn(
        { reason: readFailure(error).code, channel },
        'could not post a change in its channel',
      );
      await checkAccess(error);
      return `Askwatch couldn’t post this in the channel. ${explainFailure(error)}`;
    }
  }

  return {
    /** Shows a person's home. Returns at once. */
    open: (workspace: Workspace, person: string) =>
      workspace.conversation.track(show(workspace, { id: person, name: person })),
    /** Does what a button in a home asks for; false when that was in no home. Returns at once. */
    press(workspace: Workspace, payload: unknown) {
      const press = parseHomePress(payload);
      if (press?.command !== HOME_FORM) return false;
      track(workspace, openForm(workspace, press));
      return true;
    },
    /** Does what a form asks for that was opened in a home. Returns at once; never throws. */
    submit: (workspace: Workspace, input: UserInput) => track(workspace, change(workspace, input)),
  };

  /** What nobody foresaw ends here, in the log. */
  function track({ conversation }: Workspace, done: Promise<void>): void {
    const failed = (error: unknown) => log.error({ err: error }, 'an action in a home failed');
    conversation.track(done.catch(failed));
  }
}

const failure = (text: string) => textCard('warning', 'That didn’t work', text);

const NOT_OPENED = failure('Slack didn’t open the form. Press the button again.');

const tooLong = (command: string) =>
  failure(
    `The current text is too long for a form. In the channel, type /${command} and the new text.`,
  );

const withNote = (card: Card, text: string): Card => ({
  ...card,
  parts: [...card.parts, textPart(text)],
});
