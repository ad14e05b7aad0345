import type { App, Context } from '@slack/bolt';
import type { Logger } from 'pino';
import { topLevelNames } from '../../bot/commands/command.ts';
import type { Bot } from '../../bot/platform.ts';
import type { Said } from '../answers/said.ts';
import { hearCommand, hearMessage, type MessageEvent } from '../events/hear.ts';
import { hearPress } from '../events/hear-press.ts';
import { escapeText } from '../render/text.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { createForms } from './forms.ts';
import { createHome } from './home.ts';
import { listenAgent } from './listen-agent.ts';

const NOT_INSTALLED =
  'Askwatch is not installed in this workspace, or no longer. Ask whoever runs it for its install page, and install it again there.';

/** Hands what people say in Slack to the bot, and leaves out what was not said to it. */
export function listen(
  app: App,
  { workspaces, bot, log }: { workspaces: Workspaces; bot: Bot; log: Logger },
): void {
  const home = createHome(app, { workspaces, bot, log, known });
  const takeFromHome = home.take;
  const forms = createForms(app, { workspaces, bot, log, known, converse, takeFromHome });
  const names = topLevelNames(bot.commands);
  const commands = new Set(names);

  /**
   * With the place by the name that the bot knows it by, and a person who can be asked for their rights. Two workspaces may
   * name two gestures alike.
   */
  function known(workspace: Workspace, said: Said): Said {
    const { channel } = said;
    const place = { ...said.invocation.place, channel: workspaces.nameOf(workspace, channel) };
    const id = workspaces.nameOf(workspace, said.invocation.id);
    const invocation = { ...said.invocation, id, place };
    return { ...said, invocation: workspace.rights.known({ ...said, invocation }) };
  }

  function converse(workspace: Workspace, said: Said): void {
    workspace.conversation.take(bot, known(workspace, said));
  }

  /** The workspace where it happened; what happens where nobody let us in, or no longer, is left. */
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
      converse(workspace, hearCommand(command));
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
    const said = workspace && hearMessage(event, workspace.self, commands);
    if (!said) return;
    if (said.addressed) return converse(workspace, said);
    const { place, thread } = known(workspace, said).invocation;
    if (!said.inThread || thread === undefined) return;
    if (await bot.isConversation(place, thread)) converse(workspace, said);
    else log.trace({ channel: said.channel }, 'a message in a thread that is not ours');
  }

  // Every button, not ours alone: Slack shows the person a warning where nobody answers.
  app.action({ type: 'block_actions' }, async ({ ack, body, context }) => {
    await ack();
    const workspace = await workspaceOf(context);
    if (!workspace || (await forms.change(workspace, body))) return;
    if (home.press(workspace, body)) return;
    const said = hearPress(body);
    if (said) converse(workspace, said);
    else log.debug('a press of something that is no button of ours');
  });

  listenAgent(app, { workspaceOf, converse });
  app.event('app_mention', ({ event, context }) => onMessage(event, context));
  app.event('message', ({ event, context }) => onMessage(event as MessageEvent, context));
}
