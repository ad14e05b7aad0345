const NAMES = [
  'channels',
  'dismissals',
  'events',
  'files',
  'forms',
  'name',
  'presses',
  'sayings',
  'suggestions',
  'threads',
];

const PLAYGROUND = new RegExp(`^/console/(?:${NAMES.join('|')})(?:/|$)`);

/** True if a request with this path needs the playground, which only the process that holds the bot has. */
export const isPlaygroundPath = (path: string): boolean => PLAYGROUND.test(path);
