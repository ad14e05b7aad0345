import { answerActions } from './answer-actions.ts';
import { askAboutCommand } from './ask-about.ts';
import { askCommand } from './ask-command.ts';
import { budgetCommand, forgetCommand, modelCommand, promptCommand } from './askwatch-channel.ts';
import { helpCommand, modelsCommand } from './askwatch-commands.ts';
import { usageCommand } from './askwatch-usage.ts';
import type { Command } from './command.ts';
import { incidentActions } from './incident-actions.ts';
import { monitorAdd } from './monitor/add.ts';
import { monitorAlerts } from './monitor/alerts.ts';
import { monitorChange } from './monitor/change.ts';
import { monitorDepends } from './monitor/depends.ts';
import { monitorEscalate } from './monitor/escalate.ts';
import { listPage, monitorList } from './monitor/list.ts';
import { monitorMaintenance, planMaintenance } from './monitor/maintenance.ts';
import { monitorPause, monitorRemove, monitorResume, removeForGood } from './monitor/manage.ts';
import { monitorHeartbeat, newPushAddress, renewPushAddress } from './monitor/push-address.ts';
import { monitorShow } from './monitor/show.ts';
import { proposalActions } from './proposal-actions.ts';

/** The commands of the core, in the order of help. */
export const commands: readonly Command[] = [
  askCommand,
  modelsCommand,
  modelCommand,
  promptCommand,
  budgetCommand,
  forgetCommand,
  usageCommand,
  helpCommand,
  monitorAdd,
  monitorList,
  monitorShow,
  monitorChange,
  monitorAlerts,
  monitorEscalate,
  monitorDepends,
  monitorPause,
  monitorResume,
  monitorRemove,
  monitorMaintenance,
  monitorHeartbeat,
];

/** Commands of buttons, which nobody can type. */
export const actions: readonly Command[] = [
  ...incidentActions,
  ...answerActions,
  ...proposalActions,
  listPage,
  removeForGood,
  planMaintenance,
  newPushAddress,
  renewPushAddress,
];

/** Commands of a message's menu, which nobody can type. */
export const messageActions: readonly Command[] = [askAboutCommand];
