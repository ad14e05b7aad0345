import type { App, Context, types } from '@slack/bolt';
import type { Logger } from 'pino';
import { whileGenerated } from '../../bot/ask/answer-buttons.ts';
import { ASK_ABOUT, askAboutCommand } from '../../bot/commands/ask-about.ts';
import { type Command, topLevelNames } from '../../bot/commands/command.ts';
import { formOf, formProblems, type WantedForm } from '../../bot/commands/form.ts';
import { type Bot, orLate } from '../../bot/platform.ts';
import type { Person } from '../../bot/shared/place.ts';
import type { Origins } from '../answers/origin.ts';
import type { UserInput } from '../answers/user-input.ts';
import { readFailure } from '../api/call-failure.ts';
import type { Paces } from '../api/paces.ts';
import { FORM, isShowable, renderForm } from '../render/render-form.ts';
import { escapeText } from '../render/text.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { deliveryOf, heardInTime } from './acknowledge.ts';
import { openAskAbout } from './ask-about.ts';
import { HomeTabs } from './home.ts';
import {
  inputIn,
  inputOf,
  type MessageEvent,
  parseButtonPress,
  parseChosenMessage,
  parseCommand,
  parseForm,
  parseMessage,
  type SlashCommand,
  triggerOf,
} from './parse-events.ts';

/** A third of the three seconds in which a form must open. Source: Slack docs, "views.open", `trigger_id`. */
const BEGIN_LIMIT_MS = 1_000;

const NOT_INSTALLED =
  'Askwatch isn’t installed in this workspace, or was removed. Ask your Askwatch admin for the install page.';

interface ListenOptions {
  workspaces: Workspaces;
  bot: Bot;
  origins: Origins;
  paces: Paces;
  log: Logger;
}

export function listen(app: App, options: ListenOptions): void {
  const listener = new Listener(options);
  listener.listenForCommands(app);
  listener.listenForPresses(app);
  listener.listenForForms(app);
  listener.listenForMessages(app);
  listener.listenForAgentEvents(app);
  listener.listenForOpenChannels(app);
  listener.listenForRemovals(app);
}

class Listener {
  private readonly options: ListenOptions;
  private readonly home: HomeTabs;
  private readonly commandNames: string[];
  private readonly formCommands: readonly Command[];

  constructor(options: ListenOptions) {
    this.options = options;
    this.home = new HomeTabs(options);
    this.commandNames = topLevelNames(options.bot.commands);
    this.formCommands = [...options.bot.forms, askAboutCommand];
  }

  listenForCommands(app: App): void {
    const { bot } = this.options;
    for (const name of this.commandNames) {
      app.command(`/${name}`, async ({ ack, command, context }) => {
        // Slack shows an error after three seconds, so nothing slow comes before an acknowledgement.
        const workspace = await this.workspaceOf(context);
        if (!workspace) return await ack({ response_type: 'ephemeral', text: NOT_INSTALLED });
        const input = this.qualify(workspace, parseCommand(command));
        const withForm = formOf(`${command.command} ${command.text}`, bot.commands);
        if (!withForm && !(await this.converse(workspace, input))) return;
        await ack();
        if (!withForm || (await this.openForm(workspace, withForm, command))) return;
        await this.converse(workspace, input);
      });
    }
    // Bolt doesn't answer unknown commands. Every matching listener runs, so this one excludes ours.
    const unknown = new RegExp(`^/(?!(?:${this.commandNames.join('|')})$)`);
    app.command(unknown, async ({ ack, command }) => {
      const known = this.commandNames.map((name) => `/${name}`).join(', ');
      const text = `Unknown command ${escapeText(command.command)}. Use ${known}.`;
      await ack({ response_type: 'ephemeral', text });
    });
  }

  listenForPresses(app: App): void {
    const { bot, log } = this.options;
    // Every button, since Slack shows a warning if nobody acknowledges a press.
    app.action({ type: 'block_actions' }, async ({ ack, body, context }) => {
      const workspace = await this.workspaceOf(context);
      const pressed = workspace && parseButtonPress(body);
      const input = pressed && this.qualify(workspace, pressed);
      if (input && !(await this.press(workspace, input, triggerOf(body)))) return;
      await ack();
      if (!workspace || input || (await this.changeForm(workspace, body))) return;
      if (!this.home.press(workspace, body)) log.debug('ignored a press of an unknown button');
    });

    const askAbout = { callback_id: ASK_ABOUT.id, type: 'message_action' } as const;
    app.shortcut(askAbout, async ({ ack, body, context }) => {
      await ack();
      const workspace = await this.workspaceOf(context);
      const chosen = workspace && parseChosenMessage(body);
      if (!chosen) return log.debug('ignored an unknown message shortcut');
      const { channel, person } = chosen;
      const input = inputIn(channel, { id: '', request: { line: '' }, person });
      const { place, person: withRights } = this.qualify(workspace, input).invocation;
      await openAskAbout(workspace, chosen, { bot, place, person: withRights, log });
    });
  }

  listenForForms(app: App): void {
    app.view({ callback_id: FORM, type: 'view_submission' }, async ({ ack, body, context }) => {
      const filled = parseForm(body, this.formCommands);
      const problems = filled ? formProblems(filled.command, filled.values) : {};
      if (Object.keys(problems).length > 0) {
        await ack({ response_action: 'errors', errors: problems });
        return;
      }
      const workspace = await this.workspaceOf(context);
      const input = workspace && filled && this.qualify(workspace, inputOf(filled));
      // From a home, the person's rights in the channel are checked first, which takes time.
      if (input && !input.isInHome && !(await this.converse(workspace, input))) return;
      await ack();
      if (!input) this.options.log.debug('ignored an unknown form');
      else if (input.isInHome) this.home.submit(workspace, input);
    });
  }

  listenForMessages(app: App): void {
    const { bot, log } = this.options;
    const commands = new Set(this.commandNames);
    const onMessage = (event: MessageEvent, context: Context) =>
      this.orAgain(context, async (comesAgain) => {
        const workspace = await this.workspaceOf(context);
        const parsed = workspace && parseMessage(event, workspace.self, commands);
        if (!parsed) return true;
        const input = this.qualify(workspace, parsed);
        const { place, thread } = input.invocation;
        if (!input.addressed) {
          if (!input.inThread || thread === undefined) return true;
          if (!(await bot.isConversation(place, thread))) {
            const { channel } = input;
            log.trace({ channel }, 'ignored a message in a thread that Askwatch is not in');
            return true;
          }
        }
        return await workspace.conversation.answer(bot.dispatch, input, { comesAgain });
      });
    app.event('app_mention', ({ event, context }) => onMessage(event, context));
    app.event('message', ({ event, context }) => onMessage(event as MessageEvent, context));
  }

  listenForAgentEvents(app: App): void {
    const { bot, workspaces } = this.options;
    // Source: Slack docs, "app_home_opened".
    app.event('app_home_opened', async ({ event: { tab, channel, user }, context }) => {
      const workspace = await this.workspaceOf(context);
      if (tab === 'messages') this.later(workspace?.agent.suggest(channel));
      else if (tab === 'home' && workspace) this.home.open(workspace, user);
    });

    // Slack's own Stop button. Source: Slack docs, "agent_session_stopped".
    app.event('agent_session_stopped', async ({ event, context }) => {
      const { channel, thread_ts: thread, user, event_ts: ts } = event;
      const workspace = await this.workspaceOf(context);
      if (!workspace) return;
      const place = { platform: 'slack', channel: workspaces.nameOf(workspace, channel) };
      await this.orAgain(context, async (comesAgain) => {
        const answers = await bot.answersIn(place, thread);
        this.later(workspace.agent.settle({ channel, thread }));
        const stops = answers.flatMap(whileGenerated).map(({ command, values }) => {
          const input = inputIn(channel, {
            id: `slack:${channel}:${user}:${ts}:${values.answer}`,
            request: { command, values },
            thread,
            // Only they can press it in a direct conversation.
            person: { id: user, name: 'you' },
          });
          const qualified = this.qualify(workspace, { ...input, inThread: true });
          return workspace.conversation.answer(bot.dispatch, qualified, { comesAgain });
        });
        return (await Promise.all(stops)).every((isStored) => isStored);
      });
    });
  }

  /** Sends waiting alerts to channels that are open again. */
  listenForOpenChannels(app: App): void {
    const { bot, workspaces } = this.options;
    const retry = async (channel: string, workspace: Workspace | undefined) => {
      if (!workspace) return;
      const name = workspaces.nameOf(workspace, channel);
      await bot.retryClosed('slack', (closed) => closed === name);
    };
    // Source: Slack docs, "channel_unarchive", "group_unarchive", "member_joined_channel".
    for (const type of ['channel_unarchive', 'group_unarchive'] as const) {
      app.event(type, async ({ event, context }) =>
        this.later(retry(event.channel, await this.workspaceOf(context))),
      );
    }
    app.event('member_joined_channel', async ({ event: { user, channel }, context }) => {
      const workspace = await this.workspaceOf(context);
      if (user === workspace?.self.userId) this.later(retry(channel, workspace));
    });
  }

  listenForRemovals(app: App): void {
    const { workspaces, log } = this.options;
    if (!workspaces.removed) return;
    const onRemoval = async (teamId: string | undefined) => {
      if (teamId === undefined) log.warn('Slack did not say which workspace removed Askwatch');
      else await workspaces.removed?.(teamId);
    };
    app.event('app_uninstalled', async ({ body }) => this.later(onRemoval(body.team_id)));
    // Tokens of people aren't ours. Source: Slack docs, "tokens_revoked event".
    app.event('tokens_revoked', async ({ body, event }) => {
      if (event.tokens.bot?.length) this.later(onRemoval(body.team_id));
    });
  }

  /** `undefined` if the app is not installed there. */
  private async workspaceOf({ teamId }: Context): Promise<Workspace | undefined> {
    const { workspaces, log } = this.options;
    const workspace = await workspaces.of(teamId);
    if (!workspace) {
      log.debug({ teamId }, 'ignored an event from a workspace where Askwatch is not installed');
    }
    return workspace;
  }

  /** Adds the workspace to channel and id, since two workspaces may use the same, and the person's rights. */
  private qualify(workspace: Workspace, input: UserInput): UserInput {
    const { workspaces, origins } = this.options;
    const { channel, invocation } = input;
    const place = { ...invocation.place, channel: workspaces.nameOf(workspace, channel) };
    const id = workspaces.nameOf(workspace, invocation.id);
    const person = this.personIn(workspace, invocation.person, channel);
    return origins.noted({ ...input, invocation: { ...invocation, id, place, person } });
  }

  private personIn(workspace: Workspace, said: Person, channel: string): Person {
    const person = workspace.rightsOf(said)(channel);
    const channelOf = async (id: string) => {
      const found = await person.channelOf?.(id);
      const { workspaces } = this.options;
      return found && { ...found, channel: workspaces.nameOf(workspace, found.channel) };
    };
    return { ...person, channelOf };
  }

  /**
   * Passes a command or press to the bot. Slack sends it only once. Resolves to false if it must not be acknowledged: Slack
   * then shows an error to the person, which nobody else could do after a kill.
   */
  private converse({ conversation }: Workspace, input: UserInput): Promise<boolean> {
    const { bot, paces } = this.options;
    return heardInTime(conversation.answer(bot.dispatch, input), paces.storeMs);
  }

  /** Has Slack send an event again that could not be stored, or could not be read. */
  private async orAgain(context: Context, hear: (comesAgain: boolean) => Promise<boolean>) {
    const delivery = deliveryOf(context);
    try {
      if (!(await hear(delivery.comesAgain)) && delivery.comesAgain) delivery.notHeard();
    } catch (error) {
      this.options.log.warn({ err: error }, 'could not process an event');
      delivery.notHeard();
    }
  }

  /** Logs the failure of work that continues after an event is acknowledged. */
  private later(work: Promise<unknown> | undefined): void {
    work?.catch((error: unknown) => {
      this.options.log.error({ err: error }, 'could not handle an event');
    });
  }

  /** Opens the form of a command. False if the person gets none; then the bare command replies. */
  private async openForm(workspace: Workspace, wanted: WantedForm, typed: SlashCommand) {
    const { command } = wanted;
    const { place, person } = this.qualify(workspace, parseCommand(typed)).invocation;
    const opened = await this.options.bot.openForm(command, { place, person, ...wanted });
    if ('card' in opened || !isShowable(opened.begin)) return false;
    const { channel_id: channel, response_url: responseUrl, trigger_id } = typed;
    const { carried = wanted.carried } = opened.begin;
    const origin = { command: command.name, channel, responseUrl, carried };
    const view = renderForm(command, origin, opened);
    return await this.show(workspace, { trigger_id, view });
  }

  /** Passes a press to the bot, and opens its form. The form's content is read before the press changes it. */
  private async press(workspace: Workspace, input: UserInput, trigger: string | undefined) {
    const form = trigger === undefined ? undefined : await this.formOfPress(input);
    if (!form || trigger === undefined) return await this.converse(workspace, input);
    const shown = { trigger_id: trigger, view: form.view };
    if (form.isAll && (await this.show(workspace, shown))) return true;
    const isHeard = this.converse(workspace, input);
    if (!form.isAll) await this.show(workspace, shown);
    return await isHeard;
  }

  private async formOfPress({ invocation, channel, inThread, responseUrl }: UserInput) {
    const { request, thread } = invocation;
    const opening = this.options.bot.formOfPress(request, async () => invocation);
    const opened = await orLate(opening, BEGIN_LIMIT_MS);
    if (!opened || !isShowable(opened.begin)) return undefined;
    const { command, carried, isAll } = opened;
    const at = { channel, responseUrl, thread: inThread ? thread : undefined };
    return { isAll, view: renderForm(command, { command: command.name, carried, ...at }, opened) };
  }

  /** False if Slack refuses. */
  private async show({ client }: Workspace, form: { trigger_id: string; view: types.ModalView }) {
    try {
      await client.views.open(form);
      return true;
    } catch (error) {
      this.options.log.warn({ reason: readFailure(error).code }, 'could not open a form');
      return false;
    }
  }

  /** Shows the inputs that go with a choice; false if it was in none of our forms. */
  private async changeForm({ client }: Workspace, payload: unknown): Promise<boolean> {
    const filled = parseForm(payload, this.formCommands);
    if (!filled) return false;
    const { viewId, hash, command, origin, values } = filled;
    try {
      const view = renderForm(command, origin, { chosen: values });
      await client.views.update({ view_id: viewId, hash, view });
    } catch (error) {
      // A quick second choice updates the form again.
      this.options.log.debug({ reason: readFailure(error).code }, 'could not update a form');
    }
    return true;
  }
}
