import { z } from 'zod';
import { command } from './command.ts';
import { placeKey } from './platform.ts';

/** `/monitor alerts`: which alerts this channel hears. */
export const monitorAlerts = command({
  name: 'monitor alerts',
  summary: 'Turn alerts in this channel on or off, for all monitors or for some',
  input: z.object({
    switch: z.enum(['on', 'off']).describe('on or off'),
    filter: z
      .string()
      .max(200)
      .optional()
      .describe('Only monitors with this text in name or target; all when left out'),
  }),
  examples: ['/monitor alerts on', '/monitor alerts on shop', '/monitor alerts off'],
  async run({ switch: turned, filter }, { channels, invocation: { place }, settings }) {
    await channels.turn(place, turned === 'on', filter);
    const always = settings.alertPlaces.some((other) => placeKey(other) === placeKey(place));
    return {
      kind: 'card',
      private: false,
      card: {
        tone: 'good',
        title: `Alerts ${turned}${filter === undefined ? '' : ` for “${filter}”`}`,
        parts: [
          { kind: 'text', text: await channels.describe(place) },
          ...(always
            ? [
                {
                  kind: 'text' as const,
                  text: 'It also hears every alert because ALERT_CHANNELS names it.',
                },
              ]
            : []),
        ],
      },
    };
  },
});
