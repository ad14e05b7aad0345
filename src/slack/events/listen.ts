import type { App, Context } from '@slack/bolt';
import type { Logger } from 'pino';
import { topLevelNames } from '../../bot/commands/command.ts';
import { formOf, formProblems } from '../../bot/commands/form.ts';
import type { Bot } from '../../bot/platform.ts';
import type { UserInput } from '../answers/user-input.ts';
import { readFailure } from '../api/call-failure.ts';
import { FORM, isShowable, renderForm } from '../render/render-form.ts';
import { escapeText } from '../render/text.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { createHome } from './home.ts';
import {
  inputIn,
  inputOf,
  type MessageEvent,
  parseButtonPress,
  parseCommand,
  parseForm,
  parseMessage,
  type SlashCommand,
} from './parse-events.ts';

const NOT_INSTALLED =
  'Askwatch is not installed in this workspace, or no longer. Ask whoever runs it for its install page, and install it again there.';

/** Receives Slack's events, hands those that are meant for the bot to it, and leaves out the others. */
export function listen(
  app: App,
  { workspaces, bot, log }: { workspaces: Workspaces; bot: Bot; log: Logger },
): void {
  const home = createHome({ workspaces, bot, log, qualify });
  const names = topLevelNames(bot.commands);
  const commands = new Set(names);

  /**
   * The input with its channel and id qualified by the workspace, since two workspaces may use the same, and with a person
   * whose rights can be asked for.
   */
  function qualify(workspace: Workspace, input: UserInput): UserInput {
    const { channel, invocation } = input;
    const place = { ...invocation.place, channel: workspaces.nameOf(workspace, channel) };
    const id = workspaces.nameOf(workspace, invocation.id);
    const person = workspace.rightsOf(invocation.person)(channel);
    return { ...input, invocation: { ...invocation, id, place, person } };
  }

  function converse(workspace: Workspace, input: UserInput): void {
    workspace.conversation.answer(bot, qualify(workspace, input));
  }

  /** The workspace of an event; undefined where the app is not installed, or no longer. */
  async function workspaceOf({ teamId }: Context): Promise<Workspace | undefined> {
    const workspace = await workspaces.of(teamId);
    if (!workspace)
      log.debug({ teamId }, 'an event of a workspace where Askwatch is not installed');
    return workspace;
  }

  /** Opens the form of what was typed; false when it has none, or Slack does not show it. */
  async function openForm(workspace: Workspace, typed: SlashCommand): Promise<boolean> {
    const command = formOf(`${typed.command} ${typed.text}`, bot.commands);
    if (!command) return false;
    const { invocation } = qualify(workspace, parseCommand(typed));
    const opened = await bot.openForm(command, invocation);
    // Whoever gets no form gets the reply of the bare command.
    if ('card' in opened || !isShowable(opened.begin)) return false;
    const { channel_id: channel, response_url: responseUrl, trigger_id } = typed;
    const view = renderForm(command, { command: command.name, channel, responseUrl }, opened);
    try {
      await workspace.client.views.open({ trigger_id, view });
      return true;
    } catch (error) {
      log.warn({ reason: readFailure(error).code }, 'a form could not be shown');
      return false;
    }
  }

  /** Shows the inputs that go with what was chosen; false when that was in no form of ours. */
  async function changeForm({ client }: Workspace, payload: unknown): Promise<boolean> {
    const filled = parseForm(payload, bot.commands);
    if (!filled) return false;
    const { viewId, hash, command, origin, values } = filled;
    try {
      const view = renderForm(command, origin, { chosen: values });
      await client.views.update({ view_id: viewId, hash, view });
    } catch (error) {
      // Whoever chooses quickly changes it again.
      log.debug({ reason: readFailure(error).code }, 'a form could not be changed');
    }
    return true;
  }

  for (const name of names) {
    app.command(`/${name}`, async ({ ack, command, context }) => {
      // Slack shows an error to the person after three seconds, so nothing that takes time comes before this.
      const workspace = await workspaceOf(context);
      await ack(workspace ? undefined : { response_type: 'ephemeral', text: NOT_INSTALLED });
      if (!workspace || (await openForm(workspace, command))) return;
      converse(workspace, parseCommand(command));
    });
  }

  // Bolt leaves a command that nobody listens to unanswered; all but ours, since every matching listener runs.
  app.command(new RegExp(`^/(?!(?:${names.join('|')})$)`), async ({ ack, command }) => {
    const known = names.map((name) => `/${name}`).join(', ');
    const text = `Askwatch does not know ${escapeText(command.command)}. It knows ${known}.`;
    await ack({ response_type: 'ephemeral', text });
  });

  async function onMessage(event: MessageEvent, context: Context): Promise<void> {
    const workspace = await workspaceOf(context);
    const input = workspace && parseMessage(event, workspace.self, commands);
    if (!input) return;
    if (input.addressed) return converse(workspace, input);
    const { place, thread } = qualify(workspace, input).invocation;
    if (!input.inThread || thread === undefined) return;
    if (await bot.isConversation(place, thread)) converse(workspace, input);
    else log.trace({ channel: input.channel }, 'a message in a thread that is not ours');
  }

  // Every button, not ours alone: Slack shows the person a warning where nobody answers.
  app.action({ type: 'block_actions' }, async ({ ack, body, context }) => {
    await ack();
    const workspace = await workspaceOf(context);
    if (!workspace || (await changeForm(workspace, body))) return;
    if (home.press(workspace, body)) return;
    const input = parseButtonPress(body);
    if (input) converse(workspace, input);
    else log.debug('a press of something that is no button of ours');
  });

  app.view({ callback_id: FORM, type: 'view_submission' }, async ({ ack, body, context }) => {
    const filled = parseForm(body, bot.commands);
    const problems = filled ? formProblems(filled.command, filled.values) : {};
    if (Object.keys(problems).length > 0) {
      await ack({ response_action: 'errors', errors: problems });
      return;
    }
    await ack();
    const workspace = await workspaceOf(context);
    if (!workspace || !filled) log.debug('a form that is none of ours was sent');
    else if (filled.origin.home) home.submit(workspace, inputOf(filled));
    else converse(workspace, inputOf(filled));
  });

  // Source: Slack docs, "app_home_opened".
  app.event('app_home_opened', async ({ event: { tab, channel, user }, context }) => {
    const workspace = await workspaceOf(context);
    if (tab === 'messages') await workspace?.agent.suggest(channel);
    else if (tab === 'home' && workspace) home.open(workspace, user);
  });

  // A press of Slack's own Stop. Source: Slack docs, "agent_session_stopped".
  app.event('agent_session_stopped', async ({ event, context }) => {
    const { channel, thread_ts: thread, user, event_ts: ts } = event;
    const workspace = await workspaceOf(context);
    if (!workspace) return;
    const actions = await workspace.agent.stopped(channel, thread);
    for (const [index, { command, values }] of actions.entries()) {
      const input = inputIn(channel, {
        id: `slack:${channel}:${user}:${ts}:${index}`,
        request: { command, values },
        thread,
        // Nobody else is there to press it.
        person: { id: user, name: 'you' },
      });
      converse(workspace, { ...input, inThread: true });
    }
  });

  // Source: Slack docs, "tokens_revoked event".
  async function onRemoval(teamId: string | undefined): Promise<void> {
    if (teamId === undefined) log.warn('Slack named no workspace that removed Askwatch');
    else await workspaces.removed?.(teamId);
  }
  if (workspaces.removed) {
    app.event('app_uninstalled', ({ body }) => onRemoval(body.team_id));
    app.event('tokens_revoked', async ({ body, event }) => {
      // Tokens of people are none of ours.
      if (event.tokens.bot?.length) await onRemoval(body.team_id);
    });
  }

  app.event('app_mention', ({ event, context }) => onMessage(event, context));
  app.event('message', ({ event, context }) => onMessage(event as MessageEvent, context));
}
