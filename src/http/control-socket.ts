import { join } from 'node:path';
import { z } from 'zod';

/** The Unix socket in the data folder through which the command line reaches the running program. */
export const controlSocket = (folder: string) => join(folder, 'control.sock');

/** The name of a key. */
export const KeyName = z.string().trim().min(1).max(100);
