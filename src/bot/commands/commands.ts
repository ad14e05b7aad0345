import { answerActions } from './answer-actions.ts';
import { askAboutCommand } from './ask-about.ts';
import { askCommand } from './ask-command.ts';
import { budgetCommand, forgetCommand, modelCommand, promptCommand } from './askwatch-channel.ts';
import { helpCommand, modelsCommand } from './askwatch-commands.ts';
import { acceptTool, toolsCommand } from './askwatch-tools.ts';
import { usageCommand } from './askwatch-usage.ts';
import type { Command } from './command.ts';
import { incidentActions } from './incident-actions.ts';
import { monitorAdd } from './monitor/add.ts';
import { monitorAlerts } from './monitor/alerts.ts';
import { monitorDepends } from './monitor/depends.ts';
import { monitorEscalate } from './monitor/escalate.ts';
import { monitorHeartbeat } from './monitor/heartbeat.ts';
import { endExample, monitorIntake } from './monitor/intake.ts';
import { listPage, monitorList } from './monitor/list.ts';
import { maintenanceForm, monitorMaintenance, planMaintenance } from './monitor/maintenance.ts';
import { monitorPause, monitorRemove, monitorResume, removeForGood } from './monitor/manage.ts';
import { newPushAddress, renewPushAddress } from './monitor/push-address.ts';
import { monitorReport } from './monitor/report.ts';
import { monitorShow } from './monitor/show.ts';
import { proposalActions } from './proposal-actions.ts';

/** Every command there is, in the order in which help shows them. */
export const commands: readonly Command[] = [
  askCommand,
  modelsCommand,
  modelCommand,
  promptCommand,
  budgetCommand,
  forgetCommand,
  usageCommand,
  toolsCommand,
  helpCommand,
  monitorAdd,
  monitorList,
  monitorShow,
  monitorAlerts,
  monitorReport,
  monitorEscalate,
  monitorDepends,
  monitorPause,
  monitorResume,
  monitorRemove,
  monitorMaintenance,
  monitorHeartbeat,
  monitorIntake,
];

/** What buttons do besides; nobody types these. */
export const actions: readonly Command[] = [
  ...incidentActions,
  ...answerActions,
  ...proposalActions,
  acceptTool,
  listPage,
  removeForGood,
  planMaintenance,
  maintenanceForm,
  newPushAddress,
  renewPushAddress,
  endExample,
];

/** What is done with a message that somebody chose; nobody types these either. */
export const messageActions: readonly Command[] = [askAboutCommand];

/** The commands that have a form, including the ones that only buttons start. */
export const forms: readonly Command[] = [...commands, ...actions].filter(({ form }) => form);
