import { z } from 'zod';

/**
 * Where Slack keeps the installations of several workspaces: a document for each, by the id of the workspace, sealed by
 * Slack's room. Without one the workspace has to install Askwatch again, so a damaged one is not passed over.
 */
export const slackInstallations = {
  name: 'slack-installations',
  schema: z.object({ sealed: z.string() }),
  version: 1,
  whenCorrupt: 'refuse' as const,
};
