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

/** Shows people their homes, when they open the tab and after each change that they make there. */
export class HomeTabs {
  private readonly workspaces: Workspaces;
  private readonly bot: Bot;
  private readonly log: Logger;
  private readonly pages = createHomePages();

  constructor(options: { workspaces: Workspaces; bot: Bot; log: Logger }) {
    this.workspaces = options.workspaces;
    this.bot = options.bot;
    this.log = options.log;
  }

  /** Returns at once, as do `press` and `submit`. */
  open(workspace: Workspace, person: string): void {
    workspace.conversation.track(this.show(workspace, { id: person, name: person }));
  }

  /** False if the button was in no home. */
  press(workspace: Workspace, payload: unknown): boolean {
    const press = parseHomePress(payload);
    if (press?.command !== HOME_FORM) return false;
    this.track(workspace, this.openForm(workspace, press));
    return true;
  }

  /** Never throws. */
  submit(workspace: Workspace, input: UserInput): void {
    this.track(workspace, this.change(workspace, input));
  }

  private track({ conversation }: Workspace, done: Promise<void>): void {
    const failed = (error: unknown) => this.log.error({ err: error }, 'an action in a home failed');
    conversation.track(done.catch(failed));
  }

  private async show(workspace: Workspace, person: Person, notice?: HomeNotice): Promise<void> {
    const render = async (shown: HomeNotice | undefined) => {
      const { owner, channelOf } = this.ownerIn(workspace, person);
      return renderHome(await this.bot.homes.of(owner), { notice: shown, channelOf });
    };
    try {
      await this.pages.publish({ workspace, person: person.id }, render, notice);
    } catch (error) {
      this.log.warn({ reason: readFailure(error).code }, 'could not show a home');
      await workspace.checkAccess(error);
    }
  }

  private ownerIn(workspace: Workspace, person: Person) {
    const personIn = workspace.rightsOf(person);
    const channels = new Map<string, string>();
    const owner: HomeOwner = {
      platform: 'slack',
      id: person.id,
      at: async ({ channel: name }) => {
        const channel = await this.channelIn(workspace, name);
        if (channel === undefined) return undefined;
        channels.set(name, channel);
        return personIn(channel);
      },
    };
    return { owner, channelOf: ({ channel }: Place) => channels.get(channel) ?? channel };
  }

  /** Slack's id of a channel; `undefined` for another workspace's channel. */
  private async channelIn(workspace: Workspace, name: string): Promise<string | undefined> {
    try {
      const at = await this.workspaces.at(name);
      return at.workspace === workspace ? at.channel : undefined;
    } catch (error) {
      if (error instanceof DeliveryError) return undefined;
      throw error;
    }
  }

  private async openForm(workspace: Workspace, press: HomePress): Promise<void> {
    const { person, trigger, values } = press;
    const { owner, channelOf } = this.ownerIn(workspace, person);
    const opened = await this.bot.homes.open(owner, values);
    if ('card' in opened) return await this.show(workspace, person, opened);
    const { command, place, begin } = opened;
    const channel = channelOf(place);
    if (!isShowable(begin)) {
      return await this.show(workspace, person, { channel, card: tooLong(command.name) });
    }
    const view = renderForm(command, { command: command.name, channel, home: true }, { begin });
    try {
      await workspace.client.views.open({ trigger_id: trigger, view });
    } catch (error) {
      this.log.warn({ reason: readFailure(error).code }, 'could not open a form');
      await this.show(workspace, person, { channel, card: NOT_OPENED });
    }
  }

  private async change(workspace: Workspace, input: UserInput): Promise<void> {
    const { channel, invocation } = input;
    const { place, person, request } = invocation;
    const { owner } = this.ownerIn(workspace, person);
    const form = 'command' in request ? request.command : undefined;
    // Checked again, since the form isn't trusted and time has passed.
    const allowed = await this.bot.homes.open(owner, { form, place: placeKey(place) });
    if ('card' in allowed) {
      return await this.show(workspace, person, { channel, card: allowed.card });
    }
    const reply = await this.bot.dispatch(invocation);
    if (reply.kind !== 'card') return;
    const { card } = reply;
    await this.show(workspace, person, { channel, card });
    const problem = reply.private ? undefined : await this.postInChannel(workspace, input, card);
    if (problem === undefined) return;
    const parts = [...card.parts, textPart(problem)];
    await this.show(workspace, person, { channel, card: { ...card, parts } });
  }

  /** Posts a change in its channel; returns a sentence if that fails. */
  private async postInChannel(
    { messages, checkAccess }: Workspace,
    { channel, invocation }: UserInput,
    card: Card,
  ): Promise<string | undefined> {
    const footer = `Changed by ${invocation.person.name} in the Askwatch home`;
    try {
      const content = renderCard({ ...card, footer });
      await messages.post({ channel }, content, `${invocation.id}/card`);
      return undefined;
    } catch (error) {
      const { code: reason } = readFailure(error);
      this.log.warn({ reason, channel }, 'could not post a change in its channel');
      await checkAccess(error);
      return `Askwatch couldn’t post this in the channel. ${explainFailure(error)}`;
    }
  }
}

const failure = (text: string) => textCard('warning', 'That didn’t work', text);

const NOT_OPENED = failure('Slack didn’t open the form. Press the button again.');

const tooLong = (command: string) =>
  failure(
    `The current text is too long for a form. In the channel, type /${command} and the new text.`,
  );
