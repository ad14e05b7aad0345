import { askCommand } from './ask-command.ts';
import { helpCommand, modelsCommand } from './askwatch-commands.ts';
import type { Command } from './command.ts';
import { monitorAdd } from './monitor-add.ts';
import { monitorAlerts } from './monitor-alerts.ts';
import { monitorList } from './monitor-list.ts';
import { monitorShow } from './monitor-show.ts';

/** Every command there is, in the order in which help shows them. */
export const commands: readonly Command[] = [
  askCommand,
  modelsCommand,
  helpCommand,
  monitorAdd,
  monitorList,
  monitorShow,
  monitorAlerts,
];
