import { z } from 'zod';
import { typedDuration } from '../../../contracts/duration.ts';
import type { MonitorDetails } from '../../../contracts/monitoring-additions.ts';
import { maskedTarget } from '../../../contracts/secret-values.ts';
import {
  type Card,
  type CardAction,
  codePart,
  factsPart,
  fittingActions,
  isCarried,
  textPart,
} from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryoneBy } from '../../shared/invocation.ts';
import { shortened } from '../../shared/text-format.ts';
import {
  applyChange,
  changeableMonitor,
  mayChange,
  planChange,
  type SettingInputs,
} from '../../tools/change-monitor.ts';
import { titleOf } from '../../tools/known-monitor.ts';
import { settingNames, settingsIn } from '../../tools/new-monitor.ts';
import { command, resettable } from '../command.ts';
import { hasSecretSetting, inSeconds, isDuration, newMonitorInput } from './add.ts';
import { monitorInput } from './manage.ts';

const { name, target, keyword, send, type: _type, ...others } = newMonitorInput.shape;

const NAME = 'monitor change';

/** Changes settings of a monitor, as its form or a line says. */
export const monitorChange = command({
  name: NAME,
  summary: 'Change settings of a monitor, such as its interval, but not its type',
  group: 'watch',
  right: mayChange,
  input: z.object({
    ...monitorInput.shape,
    name: name.describe('New name'),
    target: target.optional().describe('New target, such as https://example.com/health'),
    // One is required, and the form shows the other as empty, so nothing resets them.
    keyword,
    send,
    ...Object.fromEntries(
      Object.entries(others).map(([input, schema]) => [input, resettable<z.ZodType>(schema)]),
    ),
  }),
  hasSecret: hasSecretSetting,
  examples: [
    '/monitor change Shop interval=5m',
    '/monitor change Shop name="Shop EU" keyword=Basket timeout=10s',
    '/monitor change Shop json=""',
    '/monitor change Shop runbook=https://wiki.example.com/shop',
  ],
  joinsWords: true,
  refuses: new Map([
    [
      'type',
      'A monitor keeps its type, because its history belongs to it. To check in another way, add a second monitor: /monitor add example.com type=CERTIFICATE',
    ],
  ]),
  form: {
    title: 'Change a monitor',
    send: 'Change',
    inputs: () => [],
    required: ['name', 'target', 'keyword'],
    carried: ['monitor'],
    async begin({ carried, monitoring }) {
      const monitor = await changeableMonitor(carried.monitor ?? '', { monitoring });
      const { id, check_type } = monitor;
      if (!isCarried({ command: 'form', values: { of: NAME, monitor: id } })) {
        throw new CommandError(`The id of ${titleOf(monitor)} is too long for a form.`);
      }
      // It may be longer than a form's text.
      const { runbook: _, ...values } = typedSettings(monitor);
      return {
        carried: { monitor: id },
        inputs: settingNames(check_type).filter((input) => input !== 'runbook'),
        values,
        hints: { send: 'A new text to send over TCP. Leave it empty to keep the current one.' },
      };
    },
  },
  opens: async ({ monitor }) => ({ form: NAME, carried: { monitor } }),
  async run({ monitor: meant, ...inputs }, { monitoring, person }) {
    const monitor = await changeableMonitor(meant, { monitoring });
    const planned = planChange(monitor, inSeconds(inputs) as SettingInputs);
    if (Object.keys(planned.after).length > 0) {
      return toEveryoneBy(person, await applyChange(monitor, planned, { monitoring }));
    }
    const isBare = Object.values(inputs).every((value) => value === undefined);
    return toAsker(settingsCard(monitor, isBare));
  },
});

/** Empty if the monitor's id is too long for a button. */
export const changeAction = ({ id }: { id: string }): CardAction[] =>
  fittingActions({ label: 'Change', command: NAME, values: { monitor: id } });

/** The settings now, as people type them. Without secrets. */
const typedSettings = (monitor: MonitorDetails): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settingsIn(monitor)).map(([input, value]) => {
      if (isDuration(input)) return [input, typedDuration(Number(value) * 1000)];
      return [input, input === 'target' ? maskedTarget(String(value)) : String(value)];
    }),
  );

function settingsCard(monitor: MonitorDetails, isBare: boolean): Card {
  const values = typedSettings(monitor);
  return {
    tone: 'info',
    title: isBare ? `Change ${titleOf(monitor)}` : `${titleOf(monitor)} already has these settings`,
    parts: [
      textPart(
        isBare ? 'Name the settings to change and their new values.' : 'Nothing has changed.',
      ),
      factsPart(
        ...settingNames(monitor.check_type).map((label) => ({
          label,
          value: values[label] ?? (label === 'send' ? 'not shown' : 'not set'),
        })),
      ),
      codePart(`/${NAME} ${shortened(monitor.name, 60)} interval=5m`),
    ],
    actions: changeAction(monitor),
  };
}
