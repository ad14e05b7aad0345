import { EventEmitter, once } from 'node:events';
import { actions, commands } from '../../src/bot/features.ts';
import type { Bot } from '../../src/bot/platform.ts';
import { type Card, encodeAction } from '../../src/bot/shared/card.ts';
import type { Place } from '../../src/bot/shared/place.ts';
import { startTestBot, textOf } from './bot.ts';

/** The required right: none, managing the place, or managing things that all places share. */
type Asks = 'nothing' | 'place' | 'shared';

export interface Row {
  command: string;
  values: Record<string, string>;
  asks: Asks;
}

const row = (command: string, asks: Asks, values: Record<string, string> = {}): Row => ({
  command,
  values,
  asks,
});

/** Typed commands, one row per required right. Buttons may carry them, too. */
export const TYPED: Row[] = [
  row('ask', 'nothing', { question: 'why' }),
  row('askwatch models', 'nothing'),
  row('askwatch model', 'nothing', { model: 'show' }),
  row('askwatch model', 'place', { model: 'test-vision' }),
  row('askwatch prompt', 'nothing', { prompt: 'show' }),
  row('askwatch prompt', 'place', { prompt: 'brief' }),
  row('askwatch budget', 'nothing', { budget: 'show' }),
  row('askwatch budget', 'place', { budget: '200k/day' }),
  row('askwatch forget', 'nothing'),
  row('askwatch usage', 'nothing'),
  row('askwatch tools', 'shared'),
  row('askwatch help', 'nothing'),
  row('monitor add', 'shared', { target: 'https://new.example' }),
  row('monitor list', 'nothing'),
  row('monitor show', 'nothing', { monitor: 'mon_1' }),
  row('monitor change', 'shared', { monitor: 'mon_1' }),
  row('monitor alerts', 'nothing', { switch: 'on' }),
  row('monitor alerts', 'place', { switch: 'on', remind: '4h' }),
  row('monitor alerts', 'place', { switch: 'on', via: 'https://hooks.example.com/x' }),
  row('monitor alerts', 'place', { switch: 'on', fallback: 'off' }),
  row('monitor report', 'nothing'),
  row('monitor report', 'place', { switch: 'on' }),
  row('monitor escalate', 'nothing'),
  row('monitor escalate', 'place', { after: 'off' }),
  row('monitor investigate', 'nothing'),
  row('monitor investigate', 'place', { switch: 'on' }),
  row('monitor depends', 'nothing', { monitor: 'mon_1' }),
  row('monitor depends', 'shared', { monitor: 'mon_1', on: 'nothing' }),
  row('monitor pause', 'shared', { monitor: 'mon_1' }),
  row('monitor resume', 'shared', { monitor: 'mon_1' }),
  row('monitor remove', 'shared', { monitor: 'mon_1' }),
  row('monitor maintenance', 'nothing'),
  row('monitor maintenance', 'shared', { monitor: 'mon_1', when: 'off' }),
  row('monitor heartbeat', 'nothing', { token: 'hb_1' }),
  row('monitor intake', 'nothing'),
  row('monitor intake', 'place', { action: 'add', kind: 'generic' }),
  row('monitor intake', 'place', { action: 'remove', name: 'Alerts' }),
  row('monitor intake', 'place', { action: 'test', name: 'Alerts' }),
];

/** Commands that only buttons carry. */
export const PRESSED: Row[] = [
  ...['acknowledge', 'snooze', 'unsnooze', 'close', 'check', 'why', 'summary'].map((verb) =>
    row(`incident ${verb}`, 'nothing', { incident: 'i1' }),
  ),
  ...['again', 'off', 'details'].map((verb) =>
    row(`investigation ${verb}`, 'nothing', { investigation: 'i1' }),
  ),
  ...['stop', 'again', 'continue', 'share'].map((verb) =>
    row(`answer ${verb}`, 'nothing', { answer: 'a1' }),
  ),
  row('answer rate', 'nothing', { answer: 'a1', as: 'good' }),
  row('answer explain', 'nothing', { answer: 'a1', reason: 'wrong' }),
  ...['confirm', 'cancel'].map((verb) => row(`proposal ${verb}`, 'nothing', { proposal: 'p1' })),
  row('tools accept', 'shared', { change: 'c1' }),
  row('monitor list page', 'nothing', { page: '1' }),
  row('monitor remove for good', 'shared', { monitor: 'mon_1' }),
  row('monitor maintenance plan', 'shared', { monitor: 'mon_1', when: 'off' }),
  row('monitor push address', 'shared', { monitor: 'mon_1' }),
  row('monitor push address new', 'shared', { monitor: 'mon_1' }),
  row('monitor intake test end', 'place', { intake: 'in_1' }),
];

/** Forms that a command without arguments opens. */
export const FORMS: Row[] = [
  row('askwatch model', 'place'),
  row('askwatch prompt', 'place'),
  row('monitor add', 'shared'),
  row('monitor change', 'shared', { monitor: 'mon_1' }),
];

/** Commands that the table lacks or lists wrongly. */
export const missing = () => [
  ...commands.filter(({ name }) => !TYPED.some(({ command }) => command === name)),
  ...actions.filter(({ name }) => !PRESSED.some(({ command }) => command === name)),
  ...[...commands, ...actions].filter(
    ({ name, right }) =>
      right !== 'anyone' &&
      ![...TYPED, ...PRESSED].some(({ command, asks }) => command === name && asks !== 'nothing'),
  ),
  ...commands.filter(({ form, name }) => form && !FORMS.some(({ command }) => command === name)),
];

/** Rows without a command. */
export const strange = () =>
  [...TYPED, ...PRESSED, ...FORMS].filter(
    ({ command }) => ![...commands, ...actions].some(({ name }) => name === command),
  );

/** A row as it is typed on one line. */
export const lineOf = ({ command, values }: Row) =>
  `/${command} ${Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')}`;

/** A row as a button carries it. */
export const pressOf = ({ command, values }: Row) => encodeAction({ label: '', command, values });

export type Role = 'manager' | 'listed' | 'in a listed group' | 'ordinary';
export const ROLES: Role[] = ['manager', 'listed', 'in a listed group', 'ordinary'];

/** Rights that everyone in the place has. */
export type Free = readonly Asks[];
export const CONSOLE_FREE: Free = ['nothing', 'place', 'shared'];

/** Roles that try a row; if everyone may, an ordinary person is enough. */
const rolesFor = ({ asks }: Row, free: Free): Role[] =>
  free === CONSOLE_FREE || asks === 'nothing' ? ['ordinary'] : ROLES;

/** The result of a gesture. */
interface Outcome {
  person: string;
  what: string;
  refused: boolean;
}

/**
 * A real bot that goes by a list of people and groups, and what it says to each gesture. The platform gets nothing to show.
 */
export async function startAsked(platform: string, listed: readonly string[]) {
  const who: Place[] = listed.map((channel) => ({ platform, channel }));
  const { bot: real, service } = await startTestBot({
    settings: { mayAdd: who, mayManage: who, alertPollMs: 600_000 },
  });
  service.add({ name: 'Shop' });
  const outcomes: Outcome[] = [];
  const news = new EventEmitter();
  let added = 0;
  const note = (person: string, what: string, came: object | { card: Card }) => {
    outcomes.push({ person, what, refused: 'card' in came && isRefusal(came.card) });
    news.emit('outcome');
  };
  const bot: Bot = {
    ...real,
    async dispatch(invocation, onStored) {
      const { person, request } = invocation;
      const reply = await real.dispatch(invocation, onStored);
      // A mention comes twice; of the second nothing comes.
      const what = 'command' in request ? request.command : 'line';
      if (reply.kind !== 'nothing') note(person.id, what, reply);
      return { kind: 'nothing' };
    },
    async openForm(command, where) {
      const opened = await real.openForm(command, where);
      note(where.person.id, `form ${command.name}`, opened);
      return opened;
    },
    async formOfPress(request, whereOf) {
      const opened = await real.formOfPress(request, whereOf);
      // This press isn't dispatched.
      if (opened?.isAll) note((await whereOf()).person.id, opened.command.name, opened);
      return opened;
    },
    homes: {
      of: real.homes.of,
      async open(owner, asked) {
        const opened = await real.homes.open(owner, asked);
        note(owner.id, `home ${asked.form}`, opened);
        return opened;
      },
    },
  };
  /** Does it as each role in turn, and says who was let do what they may not, or not let do what they may. */
  async function wrongIn(
    rows: readonly Row[],
    tried: {
      where: string;
      free: Free;
      people: Record<Role, string>;
      /** The expected kind of result. */
      kind?: 'form' | 'home';
      invoke(row: Row, role: Role): unknown;
    },
  ): Promise<string[]> {
    const { where, free, people, kind, invoke } = tried;
    const wrong: string[] = [];
    for (const one of rows) {
      const before = outcomes.length;
      const roles = rolesFor(one, free);
      for (const [at, role] of roles.entries()) {
        // A repeated address would lead to a question.
        const target = `https://new-${outcomes.length}-${at}.example`;
        const values = 'target' in one.values ? { ...one.values, target } : one.values;
        invoke({ ...one, values }, role);
      }
      async function cameOf(role: Role, wanted: string[]): Promise<Outcome> {
        for (;;) {
          const found = outcomes
            .slice(before)
            .find(({ person, what }) => person === people[role] && wanted.includes(what));
          if (found) return found;
          await once(news, 'outcome', { signal: AbortSignal.timeout(45_000) }).catch((cause) => {
            throw new Error(`Nothing came of ${one.command} by ${role}, ${where}`, { cause });
          });
        }
      }
      const said = [one.command, 'line'];
      for (const role of roles) {
        const came = await cameOf(role, kind ? [`${kind} ${one.command}`] : said);
        // Without a form, the command replies by itself.
        if (came.refused && kind === 'form') await cameOf(role, said);
        const may = role !== 'ordinary' || free.includes(one.asks);
        if (came.refused === may) {
          const done = came.refused ? 'is not let' : 'is let';
          wrong.push(`${role} ${done} ${one.command} ${Object.keys(one.values)}, ${where}`);
        }
        if (!came.refused && one.command === 'monitor add' && !kind) added += 1;
      }
    }
    return wrong;
  }
  return { bot, wrongIn, isAddedByOthers: () => service.monitors.length !== 1 + added };
}

const isRefusal = (card: Card) => /^Only people (?:who can manage|chosen by)/m.test(textOf(card));
