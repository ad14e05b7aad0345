import { join } from 'node:path';

/** The Unix socket in the data folder through which the command line reaches the running program. */
export const controlSocket = (folder: string) => join(folder, 'control.sock');
