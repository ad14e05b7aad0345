import { expect, test } from 'vitest';
import { FORM } from '../../../src/slack/render/render-form.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { long } from '../../helpers/long.ts';
import {
  CHANNEL_FREE,
  DIRECT_FREE,
  FORMS,
  lineOf,
  PRESSED,
  pressOf,
  ROLES,
  type Role,
  type Row,
  startAsked,
  TYPED,
} from '../../helpers/rights-table.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

const PEOPLE: Record<Role, string> = {
  manager: 'U00GRACE',
  listed: 'U00LISA',
  'in a listed group': 'U00GREG',
  ordinary: 'U00ADA',
};
const GROUP = 'S00OPS';
/** A group of people who write directly, which Slack names like a private channel. */
const GROUP_DIRECT = 'G00GROUP';
const directOf = (role: Role) => `D${PEOPLE[role].slice(1)}`;

/** A workspace with all of them, and the real platform. */
async function start() {
  const fake = await startSlack(undefined, { limits: false });
  fake.profiles.set(PEOPLE.manager, { is_admin: true });
  fake.scopes.add('usergroups:read');
  fake.groups.set(GROUP, [PEOPLE['in a listed group']]);
  fake.addChannel({ id: GROUP_DIRECT, kind: 'private' });
  for (const role of ROLES) fake.addChannel({ id: directOf(role) });
  const asked = await startAsked('slack', [PEOPLE.listed, GROUP]);
  const { slack, lines } = await makeSlack({ fake });
  await slack.start(asked.bot);
  const thread = fake.say('Hello');
  let presses = 0;
  /** Presses a button with this value, under a message of a channel or, when a home, of none. */
  function press(value: string, role: Role, channel?: string) {
    presses += 1;
    const under = channel === undefined ? {} : { channel: { id: channel } };
    return fake.interact({
      ...{ type: 'block_actions', user: { id: PEOPLE[role] }, ...under },
      ...(channel === undefined && { view: { type: 'home' }, trigger_id: `${presses}.1.home` }),
      container: { message_ts: '1.000001' },
      actions: [{ type: 'button', action_ts: `${presses}.1`, value }],
    });
  }
  /** Sends a form as somebody filled it in that was opened for somebody else. */
  function send({ command, values }: Row, role: Role, channel: string) {
    presses += 1;
    const state = Object.entries(values).map(([name, value]) => [name, { [name]: { value } }]);
    return fake.interact({
      ...{ type: 'view_submission', user: { id: PEOPLE[role] } },
      view: {
        ...{ id: `V${presses}`, hash: '1', callback_id: FORM },
        private_metadata: JSON.stringify({ command, channel }),
        state: { values: Object.fromEntries(state) },
      },
    });
  }
  return { fake, lines, thread, press, send, ...asked };
}

const asking = TYPED.filter(({ asks }) => asks !== 'nothing');
const setting = asking.filter(({ command }) => FORMS.some((form) => form.command === command));

test('who may do what is the same wherever they ask, but for what is of the place itself', async () => {
  const { fake, lines, thread, press, send, wrongIn, isAddedByOthers } = await start();
  const people = PEOPLE;
  const wrong: string[] = [];
  const places = [
    { where: 'a channel', free: CHANNEL_FREE, isMain: true, channelOf: () => CHANNEL },
    { where: 'a direct message', free: DIRECT_FREE, isMain: true, channelOf: directOf },
    {
      where: 'a group of direct messages',
      free: CHANNEL_FREE,
      isMain: long,
      channelOf: () => GROUP_DIRECT,
    },
  ];
  for (const { where, free, isMain, channelOf } of places) {
    const at = (role: Role) => ({ user: PEOPLE[role], channel: channelOf(role) });
    const tried = (how: string) => ({ where: `${how} in ${where}`, free, people });
    const found = [
      await wrongIn(isMain ? TYPED : asking, {
        ...tried('typed'),
        invoke(row, role) {
          const [command = '', ...words] = lineOf(row).split(' ');
          return fake.slash(command, words.join(' '), at(role));
        },
      }),
      await wrongIn(isMain ? [...TYPED, ...PRESSED] : [], {
        ...tried('pressed'),
        invoke: (row, role) => press(pressOf(row), role, channelOf(role)),
      }),
      await wrongIn(isMain ? setting : [], {
        ...tried('sent as a form'),
        invoke: (row, role) => send(row, role, channelOf(role)),
      }),
      await wrongIn(isMain ? FORMS : [], {
        ...tried('as a form'),
        kind: 'form',
        invoke(row, role) {
          const [command = '', ...words] = lineOf(row).trim().split(' ');
          return fake.slash(command, words.join(' '), at(role));
        },
      }),
      // The places of a home are those where somebody spoke, which they now did.
      await wrongIn(
        FORMS.filter(({ asks }) => asks === 'place'),
        {
          ...tried('in a home'),
          kind: 'home',
          invoke(row, role) {
            const place = `slack:${channelOf(role)}`;
            return press(`home form?${new URLSearchParams({ form: row.command, place })}`, role);
          },
        },
      ),
    ];
    wrong.push(...found.flat());
  }
  wrong.push(
    ...(await wrongIn(TYPED, {
      where: 'said in a thread',
      free: CHANNEL_FREE,
      people,
      invoke: (row, role) => fake.mention(lineOf(row), { user: PEOPLE[role], threadTs: thread }),
    })),
    ...(await wrongIn(TYPED, {
      where: 'said in a direct message',
      free: DIRECT_FREE,
      people,
      invoke: (row, role) => fake.say(lineOf(row), { user: PEOPLE[role], channel: directOf(role) }),
    })),
  );
  expect(wrong).toEqual([]);
  expect(isAddedByOthers()).toBe(false);
  expect(fake.unhandled).toEqual([]);
  expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
