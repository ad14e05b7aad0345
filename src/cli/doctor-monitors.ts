import { namedPlatforms } from '../app/platforms.ts';
import { type Settings, secretVariables } from '../app/settings.ts';
import { type Finding, ok, problem, warning } from '../bot/shared/finding.ts';
import { counted } from '../bot/shared/text-format.ts';
import { DefinitionsError, problemLine } from '../monitoring/provisioning/problem.ts';
import type { ProvisioningState } from '../monitoring/provisioning/provisioning.ts';
import { readMonitorsFile } from '../monitoring/provisioning/read.ts';
import { reachRunning } from './control-client.ts';

const CHECK = 'Monitors file';

/** The most errors in the file that are reported. */
const MAX_TOLD = 10;

/** Reports whether MONITORS_FILE is valid, and whether the running program has applied it. */
export async function checkMonitorsFile(settings: Settings, program?: URL): Promise<Finding[]> {
  const { monitorsFile, allowPrivate } = settings;
  if (monitorsFile === undefined) return [];
  try {
    const monitors = await readMonitorsFile({
      ...{ path: monitorsFile, program },
      taboo: secretVariables,
      allowPrivate,
      platforms: namedPlatforms,
    });
    const read = ok(CHECK, `declares ${counted(monitors.length, 'monitor')}`);
    return [read, ...(await whatTheProgramSays(settings))];
  } catch (error) {
    if (!(error instanceof DefinitionsError)) throw error;
    const told = error.problems.slice(0, MAX_TOLD).map((one) => problem(CHECK, problemLine(one)));
    const more = error.problems.length - told.length;
    return more > 0 ? [...told, warning(CHECK, `has ${more} more errors.`)] : told;
  }
}

async function whatTheProgramSays(settings: Settings): Promise<Finding[]> {
  const running = await reachRunning(settings);
  if (!running) return [];
  try {
    const said = await running.ask<Partial<ProvisioningState>>('GET', 'monitors/file');
    if (said?.state === undefined) {
      return [
        warning(
          CHECK,
          'The running Askwatch was started without MONITORS_FILE. Restart it with MONITORS_FILE set.',
        ),
      ];
    }
    return 'sentence' in said ? [problem(CHECK, said.sentence ?? '')] : [];
  } finally {
    await running.close();
  }
}
