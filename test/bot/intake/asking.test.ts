import { expect, test } from 'vitest';
import { understand } from '../../../src/bot/rules/rules.ts';
import { decodeAction, encodeAction } from '../../../src/bot/shared/card.ts';
import { reportsTo } from '../../../src/bot/tools/reported-alerts.ts';
import { toolRunner } from '../../helpers/bot/tool-runner.ts';
import { readAnswer } from '../../helpers/bot.ts';
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
    '1 alert from another system is firing in this channel:\n\n- **Alert a**: FIRING',
  ],
  ['is everything ok?', '2 alerts from other systems are firing in this channel:'],
  ['Was ist ausgefallen?', 'Ein Alarm, den ein anderes System hierher meldet, ist aktiv:'],
  ['¿Qué está caído?', 'Una alerta de otro sistema está activa en este canal:'],
])('rules answer “%s” with what fires', async (question, words) => {
  const { here, world } = await runners();
  const understood = understand(question, world.nowMs());
  const { output } = await here(understood?.tool ?? '', understood?.input);
  expect(understood?.answer(output)).toContain(words);
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
