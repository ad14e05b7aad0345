import type { App } from '@slack/bolt';
import type { Logger } from 'pino';

/** Hears of workspaces that remove the app, or take its bot token away. Source: Slack docs, "tokens_revoked event". */
export function listenForRemoval(
  app: App,
  options: { removed(teamId: string): Promise<void>; log: Logger },
): void {
  const { removed, log } = options;

  async function onRemoval(teamId: string | undefined): Promise<void> {
    if (teamId === undefined) log.warn('Slack named no workspace that removed Askwatch');
    else await removed(teamId);
  }

  app.event('app_uninstalled', ({ body }) => onRemoval(body.team_id));
  app.event('tokens_revoked', async ({ body, event }) => {
    // Tokens of people are none of ours.
    if (event.tokens.bot?.length) await onRemoval(body.team_id);
  });
}
