import type { App, Context } from '@slack/bolt';
import type { UserInput } from '../answers/said.ts';
import type { Workspace } from '../workspaces/workspace.ts';

/**
 * Hears what people do in the agent view of the app: open the direct conversation, and press Slack's own Stop.
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
