import { feedback } from './features/feedback.ts';
import { intake } from './features/intake.ts';
import { mcp } from './features/mcp.ts';
import { provisioning } from './features/provisioning.ts';
import { toolServers } from './features/tool-servers.ts';
import type { ProgramFeature } from './program.ts';

/** The features with a part outside of the bot. */
export const programFeatures: readonly ProgramFeature[] = [
  mcp,
  feedback,
  intake,
  provisioning,
  toolServers,
];
