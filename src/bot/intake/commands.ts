import { z } from 'zod';
import { INTAKE_KINDS, type IntakeKind } from '../../contracts/intake-kinds.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import {
  type Call,
  command,
  optionalDuration,
  optionalText,
  requiredText,
} from '../commands/command.ts';
import {
  type Card,
  type CardPart,
  codePart,
  compact,
  tablePart,
  textCard,
  textPart,
} from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { toAsker, toEveryoneBy } from '../shared/invocation.ts';
import { mayManage } from '../shared/rights.ts';
import { counted, inWords, shortened } from '../shared/text-format.ts';
import { isNamed } from '../tools/monitors.ts';
import { bareUrl } from './alertmanager-of.ts';
import { exampleAlert } from './example-alert.ts';
import { intakeOf } from './intake.ts';
import { INTAKE_TITLES, type Intake, REPEAT } from './intakes.ts';
import { setupSteps } from './setup-lines.ts';

const input = z.object({
  action: z
    .enum(['list', 'add', 'remove', 'test'])
    .optional()
    .describe('list, add, remove or test; default: list'),
  kind: z.enum(INTAKE_KINDS).optional().describe('The system that sends the alerts, for add'),
  name: optionalText(
    80,
    'For add, its name here; for the other actions, the name or id of an intake',
  ),
  alertmanager: optionalText(
    500,
    'The Alertmanager where a snooze creates silences, for add: one of the addresses in ALERTMANAGER_URL',
  ),
  repeat: optionalDuration(
    REPEAT,
    'How often the sender repeats an ongoing alert, for add, such as 12h; default: 4h',
  ),
});

type IntakeInput = z.output<typeof input>;

/** Fits into a message on every platform. */
const MAX_ROWS = 20;

/** Addresses for alerts from other systems to this channel. */
export const monitorIntake = command({
  name: 'monitor intake',
  summary: 'Receive alerts from Alertmanager, Grafana, Uptime Kuma and others in this channel',
  group: 'set up',
  right: {
    ...mayManage('manage its intakes', 'place'),
    when: ({ action = 'list' }) => action !== 'list',
  },
  input,
  wordsChoose: true,
  examples: [
    '/monitor intake add alertmanager',
    '/monitor intake add grafana name="Team graphs"',
    '/monitor intake',
    '/monitor intake test Alertmanager',
    '/monitor intake remove Alertmanager',
  ],
  async run(asked, call) {
    if (asked.action === 'add') return await add(asked, call);
    for (const name of ['alertmanager', 'repeat'] as const) {
      if (asked[name] !== undefined) throw new CommandError(`“${name}” only works with add.`);
    }
    if (asked.action === 'remove') return await remove(asked, call);
    if (asked.action === 'test') return await example(asked, call);
    return toAsker(listCard(await intakeOf(call).intakes.list(call.place), asked));
  },
});

/** The button under a test alert. */
export const endExample = command({
  name: 'monitor intake test end',
  summary: 'End the test alert',
  right: mayManage('end test alerts', 'place'),
  input: z.object({ intake: requiredText(60, 'The id of its intake') }),
  async run({ intake: id }, call) {
    const { intakes, intake } = intakeOf(call);
    const found = (await intakes.list(call.place)).find((one) => one.id === id);
    if (!found) {
      throw new CommandError('This intake was removed, and its test alert ended with it.');
    }
    const alerts = [exampleAlert(found, 'resolved', Date.now())];
    await intake.take(found, { alerts, truncated: 0 });
    return { kind: 'nothing' };
  },
});

/** Posts a test alert the way that received alerts are posted. */
async function example(asked: IntakeInput, call: Call) {
  const { intakes, intake } = intakeOf(call);
  const found = meant(await intakes.list(call.place), asked);
  const alerts = [exampleAlert(found, 'firing', Date.now())];
  await intake.take(found, { alerts, truncated: 0 });
  const card = textCard(
    'info',
    `Test alert for ${shortened(found.name, 80)} posted here`,
    'It ends in a minute, or when you press the button. It only tests this channel. To check that the other system can reach Askwatch, use that system’s own test.',
  );
  const end = { label: 'End it', command: endExample.name, values: { intake: found.id } };
  return toAsker({ ...card, actions: [end] });
}

async function add({ kind, name, alertmanager, repeat }: IntakeInput, call: Call) {
  const { place, person, settings } = call;
  if (kind === undefined) {
    throw new CommandError(
      `Name the system that sends the alerts: /monitor intake add ${INTAKE_KINDS.join(' | ')}. For any other system, use generic.`,
    );
  }
  const alertmanagerUrl =
    alertmanager === undefined ? undefined : chosenUrl(alertmanager, settings.alertmanagerUrls);
  const { intake, token } = await intakeOf(call).intakes.add(place, {
    kind,
    name,
    by: person.name,
    repeatMs: repeat,
    alertmanagerUrl,
  });
  // Anyone who has the address can post alerts here.
  return toAsker(addedCard(intake, token, settings));
}

/** The operator's address without credentials; Askwatch calls no other address. */
function chosenUrl(text: string, urls: readonly string[] = []): string {
  const wanted = bareUrl(text);
  const found = urls.map(bareUrl).find((url) => url === wanted);
  if (found !== undefined) return found;
  throw new CommandError(
    urls.length === 0
      ? 'No Alertmanager is set up for silences. Ask your Askwatch admin to set ALERTMANAGER_URL.'
      : `“alertmanager” must be one of the addresses in ALERTMANAGER_URL: ${urls.map(bareUrl).join(', ')}, not “${shortened(maskedTarget(text), 100)}”.`,
  );
}

function addedCard(intake: Intake, token: string, { hooksUrl }: Call['settings']): Card {
  const baseUrl = hooksUrl ?? 'http://127.0.0.1:3000';
  const steps = setupSteps(intake.kind, { baseUrl, token });
  return {
    tone: 'good',
    title: `Intake “${shortened(intake.name, 80)}” added`,
    parts: compact<CardPart>(
      textPart(
        'Its address is shown only once, and anyone who has it can post alerts here. If you lose it, remove the intake and add it again.',
      ),
      ...steps.flatMap(({ text, code }) => [textPart(text), codePart(code)]),
      isLocal(baseUrl) &&
        textPart(
          `Only systems on Askwatch’s own machine can reach ${baseUrl}. For others, ask your Askwatch admin to set PUBLIC_URL to an address they can reach.`,
        ),
    ),
  };
}

/** True for an address that only this machine can reach. */
function isLocal(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

async function remove(asked: IntakeInput, call: Call) {
  const { place, person } = call;
  const { intakes } = intakeOf(call);
  const intake = meant(await intakes.list(place), asked);
  const removed = await intakes.remove(place, intake.id);
  if (!removed) throw new CommandError('This intake is already removed.');
  const card = textCard(
    'good',
    `Intake “${shortened(removed.name, 80)}” removed`,
    'Its address no longer works. Alerts it already sent are kept.',
  );
  return toEveryoneBy(person, card);
}

/** Finds an intake. A typed kind may be its name, or the first word of its name. */
function meant(all: readonly Intake[], { kind, name }: Pick<IntakeInput, 'kind' | 'name'>): Intake {
  const typed = [kind, name].filter((word) => word !== undefined).join(' ');
  if (typed === '') throw new CommandError('Name the intake. /monitor intake lists them.');
  const named = all.find((one) => isNamed(one, typed));
  const ofKind = name === undefined ? all.filter((one) => one.kind === kind) : [];
  const found = named ?? (ofKind.length === 1 ? ofKind[0] : undefined);
  if (found) return found;
  throw new CommandError(
    all.length === 0
      ? 'This channel has no intakes. /monitor intake add creates one.'
      : `No intake called “${shortened(typed, 60)}” in this channel. It has ${all.map((one) => `“${shortened(one.name, 60)}”`).join(', ')}.`,
  );
}

/** The intakes of a channel, filtered by kind and by a part of the name. Pure. */
function listCard(
  all: readonly Intake[],
  { kind, name = '' }: { kind?: IntakeKind; name?: string },
): Card {
  const shown = all.filter(
    (one) =>
      (kind === undefined || one.kind === kind) &&
      one.name.toLowerCase().includes(name.toLowerCase()),
  );
  if (shown.length === 0) {
    return textCard(
      'info',
      all.length === 0 ? 'No intakes yet' : 'No matching intake',
      all.length === 0
        ? 'An intake lets another system post its alerts in this channel. Add one: /monitor intake add alertmanager. Other kinds are grafana, pagerduty, uptime-kuma and generic.'
        : `This channel has ${counted(all.length, 'intake')}. /monitor intake lists ${all.length === 1 ? 'it' : 'them'}.`,
    );
  }
  const nowMs = Date.now();
  const rows = shown
    .slice(0, MAX_ROWS)
    .map((one) => [
      shortened(one.name, 60),
      INTAKE_TITLES[one.kind],
      lastUsed(one, nowMs),
      shortened(one.by, 40),
      one.id,
    ]);
  const more = shown.length - rows.length;
  return {
    tone: 'info',
    title: `${counted(shown.length, 'intake')} in this channel`,
    parts: [
      tablePart(['Name', 'Kind', 'Last used', 'Added by', 'Id'], rows),
      ...(more > 0 ? [textPart(`And ${more} more: /monitor intake list <part of a name>`)] : []),
    ],
  };
}

const lastUsed = ({ lastDeliveryAtMs }: Intake, nowMs: number) =>
  lastDeliveryAtMs === undefined
    ? 'never'
    : `${inWords(Math.max(60_000, nowMs - lastDeliveryAtMs))} ago`;
