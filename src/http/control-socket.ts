import { join } from 'node:path';

export const controlSocket = (folder: string) => join(folder, 'control.sock');
