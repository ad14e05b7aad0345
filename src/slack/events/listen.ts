import type { App, Context } from '@slack/bolt';
import type { Logger } from 'pino';
import { topLevelNames } from '../../bot/commands/command.ts';
import type { Bot } from '../../bot/platform.ts';
import type { UserInput } from '../answers/user-input.ts';
import { escapeText } from '../render/text.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { createForms } from './forms.ts';
import { createHome } from './home.ts';
import { type MessageEvent, parseButtonPress, parseCommand, parseMessage } from './parse-events.ts';

const NOT_INSTALLED =
  'Askwatch is not installed in this workspace, or no longer. Ask whoever runs it for its install page, and install it again there.';

/** Receives Slack's events, hands those that are meant for the bot to it, and leaves out the others. */
export function listen(
  app: App,
  { workspaces, bot, log }: { workspaces: Workspaces; bot: Bot; log: Logger },
): void {
  const home = createHome(app, { workspaces, bot, log, qualify });
  const submitFromHome = home.submit;
  const forms = createForms(app, { workspaces, bot, log, qualify, converse, submitFromHome });
  const names = topLevelNames(bot.commands);
  const commands = new Set(names);

  /**
   * The input with its channel and id qualified by the workspace, since two workspaces may use the same, and with a person
   * whose rights can be asked for.
   */
  function qualify(workspace: Workspace, input: UserInput): UserInput {
    const { channel } = input;
    const place = { ...input.invocation.place, channel: workspaces.nameOf(workspace, channel) };
    const id = workspaces.nameOf(workspace, input.invocation.id);
    const invocation = { ...input.invocation, id, place };
    return { ...input, invocation: workspace.rights.withRights({ ...input, invocation }) };
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

  for (const name of names) {
    app.command(`/${name}`, async ({ ack, command, context }) => {
      // Slack shows an error to the person after three seconds, so nothing that takes time comes before this.
      const workspace = await workspaceOf(context);
      await ack(workspace ? undefined : { response_type: 'ephemeral', text: NOT_INSTALLED });
      if (!workspace || (await forms.open(workspace, command))) return;
      converse(workspace, parseCommand(command));
    });
  }

  // Bolt leaves a command that nobody listens to unanswered; all but ours, since every matching listener runs.
  app.command(new RegExp(`^/(?!(?:${names.join('|')})$)`), async ({ ack, command }) => {
    const qualify = names.map((name) => `/${name}`).join(', ');
    const text = `Askwatch does not know ${escapeText(command.command)}. It knows ${qualify}.`;
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
    if (!workspace || (await forms.change(workspace, body))) return;
    if (home.press(workspace, body)) return;
    const input = parseButtonPress(body);
    if (input) converse(workspace, input);
    else log.debug('a press of something that is no button of ours');
  });

  listenAgent(app, { workspaceOf, converse });
  app.event('app_mention', ({ event, context }) => onMessage(event, context));
  app.event('message', ({ event, context }) => onMessage(event as MessageEvent, context));
}

/**
 * Receives what people do in the agent view of the app: open the direct conversation, and press Slack's own Stop.
 * Sources: Slack docs, "app_home_opened", "agent_session_stopped".
 */
export function listenAgent(
  app: App,
  handlers: {
    workspaceOf(context: Context): Promise<Workspace | undefined>;
    converse(workspace: Workspace, input: UserInput): void;
  },
): void {
  app.event('app_home_opened', async ({ event: { tab, channel }, context }) => {
    const workspace = await handlers.workspaceOf(context);
    if (tab === 'messages') await workspace?.agent.suggest(channel);
  });

  app.event('agent_session_stopped', async ({ event, context }) => {
    const { channel, thread_ts: thread, user, event_ts: ts } = event;
    const workspace = await handlers.workspaceOf(context);
    const actions = (await workspace?.agent.stopped(channel, thread)) ?? [];
    for (const [index, { command, values }] of actions.entries()) {
      if (!workspace) return;
      handlers.converse(workspace, {
        invocation: {
          id: `slack:${channel}:${user}:${ts}:${index}`,
          request: { command, values },
          place: { platform: 'slack', channel },
          thread,
          // Nobody else is there to press it.
          person: { id: user, name: 'you' },
        },
        channel,
        addressed: true,
        inThread: true,
        hidden: true,
      });
    }
  });
}
