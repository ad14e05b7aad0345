import { askCommand } from './ask-command.ts';
import { forgetCommand, modelCommand, promptCommand } from './askwatch-channel.ts';
import { helpCommand, modelsCommand } from './askwatch-commands.ts';
import { usageCommand } from './askwatch-usage.ts';
import type { Command } from './command.ts';
import { monitorAdd } from './monitor-add.ts';
import { monitorAlerts } from './monitor-alerts.ts';
import { monitorHeartbeat } from './monitor-heartbeat.ts';
import { monitorList } from './monitor-list.ts';
import { monitorPause, monitorRemove, monitorResume } from './monitor-manage.ts';
import { monitorShow } from './monitor-show.ts';

/** Every command there is, in the order in which help shows them. */
export const commands: readonly Command[] = [
  askCommand,
  modelsCommand,
  modelCommand,
  promptCommand,
  forgetCommand,
  usageCommand,
  helpCommand,
  monitorAdd,
  monitorList,
  monitorShow,
  monitorAlerts,
  monitorPause,
  monitorResume,
  monitorRemove,
  monitorHeartbeat,
];
