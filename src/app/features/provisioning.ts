import { openProvisioning } from '../../monitoring/provisioning/open-provisioning.ts';
import { listExisting, type Provisioning } from '../../monitoring/provisioning/provisioning.ts';
import { namedPlatforms } from '../platforms.ts';
import type { ProgramFeature } from '../program.ts';
import { secretVariables } from '../settings.ts';

/** Monitors that the files of MONITORS_FILE declare, and the export of all monitors by the command line. */
export const provisioning: ProgramFeature = {
  name: 'provisioning',
  open({ settings: { monitorsFile: path }, runs, monitors }) {
    if (!runs('monitoring')) return {};
    let opened: Provisioning | undefined;
    const file = { taboo: secretVariables, platforms: namedPlatforms };
    return {
      openFiles:
        path === undefined
          ? undefined
          : (parts) => {
              opened = openProvisioning({ ...file, path }, parts);
              return opened;
            },
      control: {
        monitors: {
          standing: () => listExisting(monitors()),
          state: () => opened?.state(),
          answer: async (answer) => await opened?.answer(answer),
        },
      },
    };
  },
};
