import { isChannelName } from '../../console/playground/channels.ts';
import { registration } from './registration.ts';

/** The web console, which serves its page also without a bot: `main.ts` makes it with the server. */
export const consolePlatform = registration({
  name: 'console',
  title: 'Web console',
  mention: {
    // It has no groups of its own: a name is all there is.
    // “@nobody” asks for no mention, which is “off”.
    pattern: /^(?<name>@(?<id>(?!(?:nobody|none)$)[\w-]{1,40}))$/i,
    words: 'a name such as @oncall',
  },
  channel: { pattern: /^#(?<id>(?<name>[a-z\d_-]{1,40}))$/ },
  examples: { channel: 'console:general' },
  variables: {},
  problems: (_values, { channels }) => [
    [
      !channels.every(isChannelName),
      'ALERT_CHANNELS: a console channel has 1 to 40 lowercase letters, digits, hyphens or underscores, such as console:ops',
    ],
  ],
  configure: () => undefined,
});
