import type { App, Context, types } from '@slack/bolt';
import type { Logger } from 'pino';
import { whileGenerated } from '../../bot/ask/answer-buttons.ts';
import { ASK_ABOUT, askAboutCommand } from '../../bot/commands/ask-about.ts';
import { type Command, topLevelNames } from '../../bot/commands/command.ts';
import { formOf, formProblems } from '../../bot/commands/form.ts';
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
import { createHome } from './home.ts';
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

/** A third of the three seconds in which a form must be there. Source: Slack docs, "views.open", `trigger_id`. */
const BEGIN_LIMIT_MS = 1_000;

const NOT_INSTALLED =
  'Askwatch isn’t installed in this workspace, or was removed. Ask your Askwatch admin for the install page.';

/** Receives Slack's events and hands the ones that are meant for the bot to it. */
export function listen(
  app: App,
  options: { workspaces: Workspaces; bot: Bot; origins: Origins; paces: Paces; log: Logger },
): void {
  const { workspaces, bot, origins, paces, log } = options;
  const home = createHome({ workspaces, bot, log });
  const names = topLevelNames(bot.commands);
  const commands = new Set(names);
  const withForms = [...bot.forms, askAboutCommand];

  /** A person whose rights can be asked for, also over another channel, which is named as the bot names it. */
  function personIn(workspace: Workspace, said: Person, channel: string): Person {
    const person = workspace.rightsOf(said)(channel);
    async function channelOf(id: string) {
      const found = await person.channelOf?.(id);
      return found && { ...found, channel: workspaces.nameOf(workspace, found.channel) };
    }
    return { ...person, channelOf };
  }

  /**
   * The input with its channel and id qualified by the workspace, since two workspaces may use the same, and with a person
   * whose rights can be asked for.
   */
  function qualify(workspace: Workspace, input: UserInput): UserInput {
    const { channel, invocation } = input;
    const place = { ...invocation.place, channel: workspaces.nameOf(workspace, channel) };
    const id = workspaces.nameOf(workspace, invocation.id);
    const person = personIn(workspace, invocation.person, channel);
    return origins.noted({ ...input, invocation: { ...invocation, id, place, person } });
  }

  /**
   * Hands a gesture, which Slack does not repeat, to the bot. Resolves to false if it must not be acknowledged: Slack then shows
   * its person that it failed, which nobody else could do after a kill.
   */
  const converse = ({ conversation }: Workspace, input: UserInput) =>
    heardInTime(conversation.answer(bot.dispatch, input), paces.storeMs);

  /** Logs the failure of work that continues after an event is acknowledged. */
  function later(work: Promise<unknown> | undefined): void {
    work?.catch((error: unknown) => {
      log.error({ err: error }, 'could not handle an event');
    });
  }

  /** The workspace of an event; undefined where the app is not installed, or no longer. */
  async function workspaceOf({ teamId }: Context): Promise<Workspace | undefined> {
    const workspace = await workspaces.of(teamId);
    if (!workspace)
      log.debug({ teamId }, 'ignored an event from a workspace where Askwatch is not installed');
    return workspace;
  }

  /** Opens the form of a command; false when this person gets none, or Slack does not show it. */
  async function openForm(workspace: Workspace, command: Command, typed: SlashCommand) {
    const { invocation } = qualify(workspace, parseCommand(typed));
    const opened = await bot.openForm(command, invocation);
    // Whoever gets no form gets the reply of the bare command.
    if ('card' in opened || !isShowable(opened.begin)) return false;
    const { channel_id: channel, response_url: responseUrl, trigger_id } = typed;
    const view = renderForm(command, { command: command.name, channel, responseUrl }, opened);
    return await show(workspace, { trigger_id, view });
  }

  /** The form that a button opens besides what it does, if its person gets it now. */
  async function formOfPress({ invocation, channel, inThread, responseUrl }: UserInput) {
    const { request, thread } = invocation;
    const opening = bot.formOfPress(request, async () => invocation);
    const opened = await orLate(opening, BEGIN_LIMIT_MS);
    if (!opened || !isShowable(opened.begin)) return undefined;
    const { command, carried } = opened;
    const origin = { command: command.name, channel, carried };
    const at = {
      ...(inThread && thread !== undefined && { thread }),
      ...(responseUrl && { responseUrl }),
    };
    return renderForm(command, { ...origin, ...at }, opened);
  }

  /**
   * Hands a press to the bot, and shows the form that its button opens, whatever becomes of either. What the form begins with is
   * known before the press changes that.
   */
  async function press(
    workspace: Workspace,
    input: UserInput,
    trigger: string | undefined,
  ): Promise<boolean> {
    const view = trigger === undefined ? undefined : await formOfPress(input);
    const isHeard = converse(workspace, input);
    if (view && trigger !== undefined) await show(workspace, { trigger_id: trigger, view });
    return await isHeard;
  }

  /** Shows a form; false when Slack does not. */
  async function show({ client }: Workspace, form: { trigger_id: string; view: types.ModalView }) {
    try {
      await client.views.open(form);
      return true;
    } catch (error) {
      log.warn({ reason: readFailure(error).code }, 'could not open a form');
      return false;
    }
  }

  /** Shows the inputs that go with what was chosen; false when that was in no form of ours. */
  async function changeForm({ client }: Workspace, payload: unknown): Promise<boolean> {
    const filled = parseForm(payload, withForms);
    if (!filled) return false;
    const { viewId, hash, command, origin, values } = filled;
    try {
      const view = renderForm(command, origin, { chosen: values });
      await client.views.update({ view_id: viewId, hash, view });
    } catch (error) {
      // Whoever chooses quickly changes it again.
      log.debug({ reason: readFailure(error).code }, 'could not update a form');
    }
    return true;
  }

  for (const name of names) {
    app.command(`/${name}`, async ({ ack, command, context }) => {
      // Slack shows an error to the person after three seconds, so nothing that takes time comes before an acknowledgement.
      const workspace = await workspaceOf(context);
      if (!workspace) return await ack({ response_type: 'ephemeral', text: NOT_INSTALLED });
      const input = qualify(workspace, parseCommand(command));
      const withForm = formOf(`${command.command} ${command.text}`, bot.commands);
      if (!withForm && !(await converse(workspace, input))) return;
      await ack();
      if (!withForm || (await openForm(workspace, withForm, command))) return;
      await converse(workspace, input);
    });
  }

  // Bolt leaves a command that nobody listens to unanswered; all but ours, since every matching listener runs.
  app.command(new RegExp(`^/(?!(?:${names.join('|')})$)`), async ({ ack, command }) => {
    const known = names.map((name) => `/${name}`).join(', ');
    const text = `Unknown command ${escapeText(command.command)}. Use ${known}.`;
    await ack({ response_type: 'ephemeral', text });
  });

  /** Has Slack send an event again that could not be stored; so, too, where it is not known whether it is meant for the bot. */
  async function orAgain(context: Context, hear: (comesAgain: boolean) => Promise<boolean>) {
    const delivery = deliveryOf(context);
    try {
      if (!(await hear(delivery.comesAgain)) && delivery.comesAgain) delivery.notHeard();
    } catch (error) {
      log.warn({ err: error }, 'could not process an event');
      delivery.notHeard();
    }
  }

  const onMessage = (event: MessageEvent, context: Context) =>
    orAgain(context, async (comesAgain) => {
      const workspace = await workspaceOf(context);
      const parsed = workspace && parseMessage(event, workspace.self, commands);
      if (!parsed) return true;
      const input = qualify(workspace, parsed);
      const { place, thread } = input.invocation;
      if (!input.addressed) {
        if (!input.inThread || thread === undefined) return true;
        if (!(await bot.isConversation(place, thread))) {
          log.trace(
            { channel: input.channel },
            'ignored a message in a thread that Askwatch is not in',
          );
          return true;
        }
      }
      return await workspace.conversation.answer(bot.dispatch, input, { comesAgain });
    });

  // Every button, not ours alone: Slack shows the person a warning where nobody answers.
  app.action({ type: 'block_actions' }, async ({ ack, body, context }) => {
    const workspace = await workspaceOf(context);
    const input = workspace && parseButtonPress(body);
    if (input && !(await press(workspace, qualify(workspace, input), triggerOf(body)))) return;
    await ack();
    if (!workspace || input || (await changeForm(workspace, body))) return;
    if (!home.press(workspace, body)) log.debug('ignored a press of an unknown button');
  });

  app.shortcut(
    { callback_id: ASK_ABOUT.id, type: 'message_action' },
    async ({ ack, body, context }) => {
      await ack();
      const workspace = await workspaceOf(context);
      const chosen = workspace && parseChosenMessage(body);
      if (!chosen) return log.debug('ignored an unknown message shortcut');
      const { channel, person } = chosen;
      const input = qualify(workspace, inputIn(channel, { id: '', request: { line: '' }, person }));
      await openAskAbout(workspace, chosen, { bot, ...input.invocation, log });
    },
  );

  app.view({ callback_id: FORM, type: 'view_submission' }, async ({ ack, body, context }) => {
    const filled = parseForm(body, withForms);
    const problems = filled ? formProblems(filled.command, filled.values) : {};
    if (Object.keys(problems).length > 0) {
      await ack({ response_action: 'errors', errors: problems });
      return;
    }
    const workspace = await workspaceOf(context);
    const input = workspace && filled && qualify(workspace, inputOf(filled));
    // What a person may do in a channel from their home is asked of Slack first.
    if (input && !input.isInHome && !(await converse(workspace, input))) return;
    await ack();
    if (!input) log.debug('ignored an unknown form');
    else if (input.isInHome) home.submit(workspace, input);
  });

  // Source: Slack docs, "app_home_opened".
  app.event('app_home_opened', async ({ event: { tab, channel, user }, context }) => {
    const workspace = await workspaceOf(context);
    if (tab === 'messages') later(workspace?.agent.suggest(channel));
    else if (tab === 'home' && workspace) home.open(workspace, user);
  });

  // A press of Slack's own Stop. Source: Slack docs, "agent_session_stopped".
  app.event('agent_session_stopped', async ({ event, context }) => {
    const { channel, thread_ts: thread, user, event_ts: ts } = event;
    const workspace = await workspaceOf(context);
    if (!workspace) return;
    const place = { platform: 'slack', channel: workspaces.nameOf(workspace, channel) };
    await orAgain(context, async (comesAgain) => {
      const answers = await bot.answersIn(place, thread);
      // Those that are under way are about to end.
      later(workspace.agent.settle(channel, thread));
      const stops = answers.flatMap(whileGenerated).map(({ command, values }) => {
        const input = inputIn(channel, {
          id: `slack:${channel}:${user}:${ts}:${values.answer}`,
          request: { command, values },
          thread,
          // Nobody else is there to press it.
          person: { id: user, name: 'you' },
        });
        const qualified = qualify(workspace, { ...input, inThread: true });
        return workspace.conversation.answer(bot.dispatch, qualified, { comesAgain });
      });
      return (await Promise.all(stops)).every((isStored) => isStored);
    });
  });

  /** What waits for a channel that was closed to alerts is sent there. */
  async function onChannelOpen(channel: string, workspace: Workspace | undefined): Promise<void> {
    if (!workspace) return;
    const name = workspaces.nameOf(workspace, channel);
    await bot.retryClosed('slack', (closed) => closed === name);
  }

  // Source: Slack docs, "channel_unarchive", "group_unarchive", "member_joined_channel".
  app.event('channel_unarchive', async ({ event, context }) =>
    later(onChannelOpen(event.channel, await workspaceOf(context))),
  );
  app.event('group_unarchive', async ({ event, context }) =>
    later(onChannelOpen(event.channel, await workspaceOf(context))),
  );
  app.event('member_joined_channel', async ({ event: { user, channel }, context }) => {
    const workspace = await workspaceOf(context);
    if (user === workspace?.self.userId) later(onChannelOpen(channel, workspace));
  });

  // Source: Slack docs, "tokens_revoked event".
  async function onRemoval(teamId: string | undefined): Promise<void> {
    if (teamId === undefined) log.warn('Slack did not say which workspace removed Askwatch');
    else await workspaces.removed?.(teamId);
  }
  if (workspaces.removed) {
    app.event('app_uninstalled', async ({ body }) => later(onRemoval(body.team_id)));
    app.event('tokens_revoked', async ({ body, event }) => {
      // Tokens of people are none of ours.
      if (event.tokens.bot?.length) later(onRemoval(body.team_id));
    });
  }

  app.event('app_mention', ({ event, context }) => onMessage(event, context));
  app.event('message', ({ event, context }) => onMessage(event as MessageEvent, context));
}
