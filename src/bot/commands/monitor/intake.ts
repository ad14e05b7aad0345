import { z } from 'zod';
import { maskedTarget } from '../../../contracts/secret-values.ts';
import { bareUrl } from '../../intake/alertmanager-of.ts';
import { exampleAlert } from '../../intake/example-alert.ts';
import { INTAKE_TITLES, type Intake, REPEAT } from '../../intake/intakes.ts';
import { INTAKE_KINDS, type IntakeKind } from '../../intake/reported-alert.ts';
import { setupSteps } from '../../intake/setup-lines.ts';
import { type Card, type CardPart, tablePart, textCard, textPart } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryone } from '../../shared/invocation.ts';
import { counted, inWords, shortened } from '../../shared/text-format.ts';
import { type Call, command, optionalDuration, optionalText, requiredText } from '../command.ts';

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

type Asked = z.output<typeof input>;

/** Rows of one card: what fits in a message on every platform. */
const MAX_ROWS = 20;

/** `/monitor intake`: where alerts of other systems come in for this channel. */
export const monitorIntake = command({
  name: 'monitor intake',
  summary: 'Receive alerts from Alertmanager, Grafana, Uptime Kuma and others in this channel',
  right: {
    setting: 'mayManage',
    over: 'place',
    to: 'manage its intakes',
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
    if (asked.alertmanager !== undefined) {
      throw new CommandError('“alertmanager” only works with add.', { input: 'alertmanager' });
    }
    if (asked.repeat !== undefined) {
      throw new CommandError('“repeat” only works with add.', { input: 'repeat' });
    }
    if (asked.action === 'remove') return await remove(asked, call);
    if (asked.action === 'test') return await example(asked, call);
    return toAsker(listCard(await call.intakes.list(call.place), asked));
  },
});

/** What the button under the answer to a test does; nobody types it. */
export const endExample = command({
  name: 'monitor intake test end',
  summary: 'End the test alert',
  right: { setting: 'mayManage', over: 'place', to: 'end test alerts' },
  input: z.object({ intake: requiredText(60, 'The id of its intake') }),
  async run({ intake: id }, { intakes, intake, place }) {
    const found = (await intakes.list(place)).find((one) => one.id === id);
    if (!found)
      throw new CommandError('This intake was removed, and its test alert ended with it.');
    const alerts = [exampleAlert(found, 'resolved', Date.now())];
    await intake.take(found, { alerts, truncated: 0 });
    return { kind: 'nothing' };
  },
});

/** Has an alert told that is none, on the way that those of the sender go once they came in. */
async function example(asked: Asked, { intakes, intake, place }: Call) {
  const found = meant(await intakes.list(place), asked);
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

async function add({ kind, name, alertmanager, repeat }: Asked, call: Call) {
  const { intakes, place, person, settings } = call;
  if (kind === undefined) {
    throw new CommandError(
      `Name the system that sends the alerts: /monitor intake add ${INTAKE_KINDS.join(' | ')}. For any other system, use generic.`,
      { input: 'kind' },
    );
  }
  const alertmanagerUrl =
    alertmanager === undefined ? undefined : chosenUrl(alertmanager, settings.alertmanagerUrls);
  const { intake, token } = await intakes.add(place, {
    kind,
    name,
    by: person.name,
    repeatMs: repeat,
    alertmanagerUrl,
  });
  // Whoever has the address can have alerts told here.
  return toAsker(madeCard(intake, token, settings));
}

/** The address as it is kept, without what stands before its host; only those that the operator named are ever asked. */
function chosenUrl(text: string, urls: readonly string[] = []): string {
  const wanted = bareUrl(text);
  const found = urls.map(bareUrl).find((url) => url === wanted);
  if (found !== undefined) return found;
  throw new CommandError(
    urls.length === 0
      ? 'No Alertmanager is set up for silences. Ask your Askwatch admin to set ALERTMANAGER_URL.'
      : `“alertmanager” must be one of the addresses in ALERTMANAGER_URL: ${urls.map(bareUrl).join(', ')}, not “${shortened(maskedTarget(text), 100)}”.`,
    { input: 'alertmanager' },
  );
}

function madeCard(intake: Intake, token: string, { hooksUrl }: Call['settings']): Card {
  const baseUrl = hooksUrl ?? 'http://127.0.0.1:3000';
  const steps = setupSteps(intake.kind, { baseUrl, token });
  return {
    tone: 'good',
    title: `Intake “${shortened(intake.name, 80)}” added`,
    parts: [
      textPart(
        'Its address is shown only once, and anyone who has it can post alerts here. If you lose it, remove the intake and add it again.',
      ),
      ...steps.flatMap(({ text, code }): CardPart[] => [
        textPart(text),
        { kind: 'code', text: code },
      ]),
      ...(isOnlyHere(baseUrl)
        ? [
            textPart(
              `Only systems on Askwatch’s own machine can reach ${baseUrl}. For others, ask your Askwatch admin to set PUBLIC_URL to an address they can reach.`,
            ),
          ]
        : []),
    ],
  };
}

/** Whether nothing beyond the machine reaches an address. */
function isOnlyHere(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

async function remove(asked: Asked, { intakes, place, person }: Call) {
  const intake = meant(await intakes.list(place), asked);
  const removed = await intakes.remove(place, intake.id);
  if (!removed) throw new CommandError('This intake is already removed.');
  const card = textCard(
    'good',
    `Intake “${shortened(removed.name, 80)}” removed`,
    'Its address no longer works. Alerts it already sent are kept.',
  );
  return toEveryone({ ...card, footer: `By ${shortened(person.name, 80)}` });
}

/** The intake that somebody names; a typed kind may be its name, or the beginning of that. */
function meant(all: readonly Intake[], { kind, name }: Pick<Asked, 'kind' | 'name'>): Intake {
  const said = [kind, name].filter((word) => word !== undefined).join(' ');
  if (said === '') throw new CommandError('Name the intake. /monitor intake lists them.');
  const named = all.find(({ id, name: own }) => [id, own].some((text) => isSame(text, said)));
  const ofKind = name === undefined ? all.filter((one) => one.kind === kind) : [];
  const found = named ?? (ofKind.length === 1 ? ofKind[0] : undefined);
  if (found) return found;
  throw new CommandError(
    all.length === 0
      ? 'This channel has no intakes. /monitor intake add creates one.'
      : `No intake called “${shortened(said, 60)}” in this channel. It has ${all.map((one) => `“${shortened(one.name, 60)}”`).join(', ')}.`,
    { input: 'name' },
  );
}

const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

/** Those of a channel, with a text in their name or of one kind where that is asked. Pure. */
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
      heardInWords(one, nowMs),
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

const heardInWords = ({ lastHeardAtMs }: Intake, nowMs: number) =>
  lastHeardAtMs === undefined ? 'never' : `${inWords(Math.max(60_000, nowMs - lastHeardAtMs))} ago`;
