import type { Command } from './commands/command.ts';
import { actions as coreActions, commands as coreCommands } from './commands/commands.ts';
import { type Feature, withFeatures } from './commands/feature.ts';
import { feedback } from './feedback/feature.ts';
import { intake } from './intake/feature.ts';
import { investigations } from './investigations/feature.ts';
import { postmortem } from './postmortem/feature.ts';
import { reports } from './reports/feature.ts';
import { toolServers } from './tool-servers/feature.ts';

/** A feature is its folder and its line here. */
export const features: readonly Feature[] = [
  feedback,
  intake,
  investigations,
  postmortem,
  reports,
  toolServers,
];

/** All commands, in the order in which help shows them. */
export const commands = withFeatures(coreCommands, features);

/** The commands of buttons; nobody can type these. */
export const actions: readonly Command[] = [
  ...coreActions,
  ...features.flatMap((one) => one.actions ?? []),
];

/** The commands that have a form, including the ones that only buttons start. */
export const forms: readonly Command[] = [...commands, ...actions].filter(({ form }) => form);
