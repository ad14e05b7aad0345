import { Argument } from 'commander';
import type { AskwatchCommand } from './command.ts';

export function addMonitorsCommand(root: AskwatchCommand): void {
  const monitors = root.command('monitors').description('Plan, apply, export and import monitors');
  monitors
    .command('plan')
    .description('Show what a file would change; exit code 2 if anything would')
    .argument('[file]', 'a file or folder (default: MONITORS_FILE)')
    .example('askwatch monitors plan monitors.yaml')
    .prints(async () => (await import('./monitors.ts')).planMonitors);
  monitors
    .command('apply')
    .description('Wait until a running Askwatch has applied MONITORS_FILE')
    .argument('[file]', 'the same file, if any')
    .option('--yes', 'confirm the removal of many monitors')
    .example('MONITORS_FILE=monitors.yaml askwatch monitors apply')
    .prints(async () => (await import('./monitors.ts')).applyMonitors);
  monitors
    .command('export')
    .description('Print all monitors as YAML, ready for MONITORS_FILE')
    .example('askwatch monitors export > monitors.yaml')
    .prints(async () => (await import('./monitors.ts')).exportMonitors);
  monitors
    .command('import')
    .description("Print the monitors in another tool's file as YAML")
    .addArgument(new Argument('<tool>').choices(['kuma', 'uptimerobot', 'gatus', 'file_sd']))
    .argument('<file>', 'kuma.db or a backup, a CSV export, a Gatus or file_sd file')
    .example('askwatch monitors import kuma kuma.db > monitors.yaml')
    .prints(async () => (await import('./monitors.ts')).importFile);
}
