import { setFlagsFromString } from 'node:v8';

// V8 trades memory for speed that this program doesn't need. Figures: docs/speed.md. The flags must be set before the program's
// modules are loaded, because the garbage collection during loading decides how far the heap grows. `main.ts` resets the flags that
// are only for the start.

// A start leaves behind little of what it makes, and V8 would set aside 32 MB for what lives shortly.
setFlagsFromString('--semi-space-growth-factor=1');
// It may grow by so much before what is dead in it is looked for, not to more than twice what lives: 340 MB after the start of
// a service that needs 55. By less, and a start would look more often than it makes anything that dies.
setFlagsFromString('--heap-growing-percent=30');
// After many objects of one place in the code have lasted, as at a start, all of that place would be put among what lasts, and
// with them what they hold: of each check, whose objects live for milliseconds, the most stayed until that was collected.
setFlagsFromString('--no-allocation-site-pretenuring');

await import('../main.ts');
