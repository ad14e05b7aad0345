import { expect, test } from 'vitest';
import { findInThread, indexNames, planAnswer } from '../../../src/bot/rules/rules.ts';
import { decodeAction, encodeAction } from '../../../src/bot/shared/card.ts';
import { reportsTo } from '../../../src/bot/tools/reported-alerts.ts';
import { toolRunner } from '../../helpers/bot/tool-runner.ts';
import { cardOf, readAnswer, type TestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { delivery, OPS, openIntakeServer } from '../../helpers/intake/intake-server.ts';
import {
  firing,
  MINUTE,
  reportedWorld,
  resolved,
  said,
} from '../../helpers/intake/reported-world.ts';
import { startService } from '../../helpers/monitoring/service.ts';

/** Tools over a service with one monitor, in a channel with reported alerts and in another. */
async function runners() {
  const service = await startService();
  await service.create({ name: 'Job', check_type: 'HEARTBEAT', target: 'job' });
  const world = reportedWorld();
  const facts = [{ label: 'job', value: 'shop' }];
  world.hear(said('a', { summary: 'Many fail', facts }), said('b', { severity: 'warning' }));
  world.hear(firing('c'));
  world.pass(MINUTE);
  world.hear(resolved('c'));
  const runnerOf = (place: string) =>
    toolRunner(service, {
      nowMs: world.nowMs(),
      reported: () => reportsTo(world.watching(), place),
    });
  return { world, here: runnerOf('slack:C1'), elsewhere: runnerOf('slack:C2') };
}

test('a list of monitors names the alerts that fire in this channel, and those of no other', async () => {
  const { here, elsewhere } = await runners();
  const names = async (input: object) => {
    const { output } = await here('list_monitors', input);
    const reported = output.reported_alerts as { alerts: Array<{ name: string }> } | undefined;
    return reported?.alerts.map(({ name }) => name);
  };
  expect(await names({})).toEqual(['Alert a', 'Alert b']);
  expect(await names({ status: 'down' })).toEqual(['Alert a']);
  expect(await names({ status: 'degraded' })).toEqual(['Alert b']);
  expect(await names({ status: 'up' })).toBeUndefined();
  expect(await names({ text: 'alert A' })).toEqual(['Alert a']);
  expect(await names({ check_type: 'HTTP' })).toBeUndefined();
  const { output, account } = await here('list_monitors', {});
  expect(account.found).toMatch(/^1 PENDING, 2 alerts FIRING, as of/);
  expect(output.reported_alerts).toMatchObject({
    total: 2,
    alerts: [{ status: 'FIRING', summary: 'Many fail', reported_by: 'Production' }, {}],
  });
  expect((await elsewhere('list_monitors', {})).output.reported_alerts).toBeUndefined();
});

test('a list of incidents names when alerts fired in this channel', async () => {
  const { here, elsewhere, world } = await runners();
  const span = { from: '2026-11-15T11:00:00Z', to: new Date(world.nowMs() + 1).toISOString() };
  const { output } = await here('list_incidents', span);
  const reported = output.reported_alerts as { incidents: Array<{ name: string }> };
  expect(reported.incidents.map(({ name }) => name).sort()).toEqual([
    'Alert a',
    'Alert b',
    'Alert c',
  ]);
  expect((await elsewhere('list_incidents', span)).output.reported_alerts).toBeUndefined();
  const before = { from: '2026-11-15T09:00:00Z', to: '2026-11-15T11:00:00Z' };
  expect((await here('list_incidents', before)).output.reported_alerts).toBeUndefined();
});

test.each([
  [
    'what is down?',
    /^The only monitor isn't down\. 1 alert from other systems is firing\.\n\n- \*\*Alert a\*\*: FIRING/,
  ],
  ['is everything ok?', / 2 alerts from other systems are firing\.[\s\S]*\*\*Alert a\*\*: FIRING/],
  ['Was ist ausgefallen?', / 1 alert from other systems is firing\./],
  ['¿Qué está caído?', / 1 alert from other systems is firing\./],
])('rules answer “%s” with what fires', async (question, words) => {
  const { here, world } = await runners();
  const at = { nowMs: world.nowMs(), zone: 'UTC' };
  const plan = planAnswer(findInThread(question, [], { ...at, index: indexNames([]) }), at);
  const [view] = plan && 'views' in plan ? plan.views : [];
  const [lookup] = view?.lookups ?? [];
  const { output } = await here(lookup?.tool ?? '', lookup?.input);
  expect(view?.write(output)).toMatch(words);
});

test('“Ask why” tells the model what the sender says, and what else fires here', async () => {
  const { bot, slack, deliver, provider, service } = await openIntakeServer();
  await deliver(delivery([{ name: 'Queue' }]));
  await eventually(() => slack.messages.length === 1);
  const [message] = slack.messages;
  const action = message?.card.actions?.find(({ label }) => label === 'Ask why');
  const request = decodeAction(action ? encodeAction(action) : '');
  if (!request) throw new Error('There is no such button.');
  const asked = service.requests.filter(({ path }) => /results|incidents/.test(path)).length;
  const reply = await bot.dispatch({
    ...{ id: 'why', request, place: OPS, thread: message?.id ?? '' },
    person: { id: 'U1', name: 'Amy' },
  });
  provider.answerWith('Because.');
  await readAnswer(reply, message?.id);
  const told = JSON.stringify(provider.calls.at(-1)?.body);
  expect(told).toContain('Reported by another system through the intake: Production');
  expect(told).toContain('Problem according to the sender: Queue is wrong');
  expect(told).toContain('- severity: critical');
  expect(told).toContain('No other alert reported to this channel is firing now.');
  // The monitoring service gets no requests about alerts that it doesn't know.
  const after = service.requests.filter(({ path }) => /results|incidents/.test(path)).length;
  expect(after).toBe(asked);
});

/** A channel with firing alerts, and monitors with similar names. */
async function startWithAlerts() {
  const server = await openIntakeServer();
  for (const name of ['Shop', 'Queue worker']) server.service.add({ name });
  const names = ['Queue', 'Shop is slow', 'Slow worker', 'Disk of db-1'];
  await server.deliver(delivery([...names, 'Over'].map((name) => ({ name }))));
  await server.deliver(delivery([{ name: 'Over', status: 'resolved' }]));
  await eventually(() => server.slack.messages.length > 0);
  return server;
}

/** Asks a model that calls a tool with a name or id; returns the card below the answer and the tool's result. */
async function propose(
  { provider, say }: Pick<TestBot, 'provider' | 'say'>,
  [tool, monitor]: [string, string],
  place = OPS,
) {
  provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'It waits for you.'
      : { calls: [{ name: tool, arguments: JSON.stringify({ monitor }) }] },
  );
  const { end } = await readAnswer(await say('/ask do it', { place }), 't1');
  const told: string = provider.calls.at(-1)?.body.messages.at(-1).content;
  return { card: end.cards?.[0], told };
}

test('confirmed cards acknowledge and snooze an alert from another system', async () => {
  const server = await openIntakeServer();
  const { slack, press } = server;
  await server.deliver(delivery([{ name: 'Queue' }]));
  await eventually(() => slack.messages.length === 1);
  const shown = () => slack.messages.map(({ card }) => textOf(card)).join('\n');

  const acknowledge = await propose(server, ['acknowledge_incident', 'queue']);
  expect(acknowledge.card && textOf(acknowledge.card)).toMatch(
    /^Acknowledge the incident of Queue\?\nReported by: Production\nStatus: FIRING\nCause: Queue is wrong\nNothing/,
  );
  const acknowledged = await press(acknowledge.card, 'Acknowledge', { place: OPS });
  expect(cardOf(acknowledged).title).toBe('Ada acknowledged the incident of Queue');
  await eventually(() => shown().includes('Acknowledged by: Ada'));

  const snooze = await propose(server, ['snooze_incident', 'queue']);
  expect(snooze.card && textOf(snooze.card)).toMatch(
    /^Snooze Queue for an hour\?\nReported by: Production\nStatus: FIRING\nCause: Queue is wrong\nNothing/,
  );
  const snoozed = await press(snooze.card, 'Snooze', { place: OPS });
  expect(cardOf(snoozed).title).toBe('Queue is snoozed for an hour');
  await eventually(() => shown().includes('Snoozed by'));
});

test.each([
  ['queue', 'Acknowledge the incident of Queue?'],
  ['disk', 'Acknowledge the incident of Disk of db-1?'],
  ['shop', 'Shop has no ongoing incident that was posted in a channel.'],
  [
    'worker',
    /2 monitors and alerts match “worker”: Queue worker \(id mon_2\), Slow worker \(id alert:\w+: Slow worker is wrong\)\. Say which/,
  ],
  ['over', 'No monitor called “over”, and no such alert is firing in this channel.'],
])('a model that acknowledges “%s” gets “%s”', async (meant, words) => {
  const server = await startWithAlerts();
  const { told } = await propose(server, ['acknowledge_incident', meant]);
  expect(told).toMatch(words);
});

test('alerts of the same name are told apart by their cause and found by id', async () => {
  const server = await openIntakeServer();
  const { alerts } = delivery([{ name: 'Disk' }]);
  const twins = ['db-1', 'db-2'].map((host) => ({
    ...alerts[0],
    ...{ fingerprint: host, annotations: { summary: `${host} is full` } },
  }));
  await server.deliver(delivery([], { alerts: twins }));
  await eventually(() => server.slack.messages.length > 0);
  const { told } = await propose(server, ['snooze_incident', 'disk']);
  const id = /\(id (alert:\w+): db-2 is full\)/.exec(told)?.[1] ?? '';
  const { card } = await propose(server, ['snooze_incident', id]);
  expect(card && textOf(card)).toContain('Cause: db-2 is full');
});

test('an alert of another channel is found neither by name nor by id', async () => {
  const server = await startWithAlerts();
  const elsewhere = { ...OPS, channel: 'C2' };
  const { told } = await propose(server, ['acknowledge_incident', 'worker']);
  const id = /id (alert:\w+)/.exec(told)?.[1] ?? '';
  expect((await propose(server, ['acknowledge_incident', id])).card).toBeDefined();
  for (const meant of [id, 'Slow worker']) {
    const { told, card } = await propose(server, ['acknowledge_incident', meant], elsewhere);
    expect(told).toContain('no such alert is firing in this channel');
    expect(card).toBeUndefined();
  }
});

test('a change of a monitor finds no alert from another system', async () => {
  const server = await startWithAlerts();
  const person = { id: 'U1', name: 'Ada', mayManage: async () => true };
  const say: TestBot['say'] = (line, where) => server.say(line, { ...where, person });
  for (const tool of ['pause_monitor', 'remove_monitor']) {
    const { told } = await propose({ ...server, say }, [tool, 'Slow worker']);
    expect(told).toContain('No monitor called “Slow worker”. See /monitor list.');
  }
});
