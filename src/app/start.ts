import { setFlagsFromString } from 'node:v8';

// Before all that the program is made of: a start leaves behind little of what it makes, and V8 would set aside 32 MB for what
// lives shortly. `main.ts` ends this.
setFlagsFromString('--semi-space-growth-factor=1');

await import('../main.ts');
