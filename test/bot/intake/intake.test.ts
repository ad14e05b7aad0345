import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { reportedId } from '../../../src/bot/incidents/watch-state.ts';
import { NOTHING_WATCHED } from '../../../src/bot/intake/apply-reported.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { post } from '../../helpers/http/running-server.ts';
import { delivery, OPS, openIntakeServer } from '../../helpers/intake/intake-server.ts';
import { firing, reportedWorld } from '../../helpers/intake/reported-world.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const EVENT = {
  event_action: 'trigger',
  dedup_key: 'disk/db-1',
  payload: { summary: 'Disk full', source: 'db-1', severity: 'critical' },
};

test('a delivery opens, changes and ends one message of its channel', async () => {
  const { deliver, slack } = await openIntakeServer();
  expect(await deliver(delivery([{ name: 'Queue' }]))).toMatchObject({
    status: 200,
    body: { ok: true, alerts: 1 },
  });
  await eventually(() => slack.messages.length === 1);
  const [message] = slack.messages;
  expect(message).toMatchObject({ channel: 'C1', titles: ['FIRING: Queue'] });
  const text = message ? textOf(message.card) : '';
  expect(text).toContain('Reported by: Production\n');
  expect(text).toContain('Cause: Queue is wrong\n');
  expect(text).toContain('severity: critical\n');
  expect(message?.card.link).toEqual({
    label: 'Source: prometheus:9090',
    url: 'http://prometheus:9090/graph',
  });
  expect(message?.card.actions?.map(({ label }) => label)).toEqual([
    'Acknowledge',
    'Snooze 1 h',
    'Ask why',
  ]);
  await deliver(delivery([{ name: 'Queue', status: 'resolved' }]));
  await eventually(() => message?.lines.size === 1);
  expect(message?.titles).toEqual([
    'FIRING: Queue',
    expect.stringMatching(/^RESOLVED: Queue \(after /),
  ]);
  expect(slack.messages).toHaveLength(1);
});

test('a delivery is taken with the token in the path, as a bearer or as a password, and by nobody else’s', async () => {
  const { ask, token, intakes, slack } = await openIntakeServer();
  const body = delivery([{ name: 'Queue' }]);
  const basic = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
  for (const authorization of [`Bearer ${token}`, `bearer  ${token}`, basic]) {
    const { status } = await ask('/hooks/alertmanager', post(body, { authorization }));
    expect(status).toBe(200);
  }
  await eventually(() => slack.messages.length === 1);
  const wrong = token.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
  for (const request of [
    ask('/hooks/alertmanager', post(body)),
    ask(`/hooks/alertmanager/${wrong}`, post(body)),
    ask('/hooks/alertmanager', post(body, { authorization: `Bearer ${wrong}` })),
    ask('/hooks/alertmanager', post(body, { authorization: 'Basic x' })),
    ask('/v2/enqueue', post({ ...EVENT, routing_key: wrong })),
    ask('/v2/enqueue', post(EVENT)),
  ]) {
    const { status, text, headers } = await request;
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(text).toContain('/monitor intake add');
    expect(text).not.toContain(wrong);
  }
  await intakes.remove(OPS, 'Production');
  expect((await ask(`/hooks/alertmanager/${token}`, post(body))).status).toBe(401);
});

test('a delivery is taken as whatever type of content its sender says', async () => {
  const { ask, token } = await openIntakeServer();
  const body = JSON.stringify(delivery([{ name: 'Queue' }]));
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/vnd.x+json',
  ]) {
    const headers = { 'content-type': type };
    const answer = await ask(`/hooks/alertmanager/${token}`, { method: 'POST', headers, body });
    expect([type, answer.status]).toEqual([type, 200]);
  }
});

test('a delivery of another kind, or none, is a 400 with a sentence and changes nothing', async () => {
  const { deliver, ask, token, slack, intake, intakes } = await openIntakeServer();
  const firing = delivery([{ name: 'Queue' }]);
  const all = [
    [deliver(firing, `/hooks/grafana/${token}`), 'belongs to an intake for alertmanager'],
    [
      ask('/v2/enqueue', post({ ...EVENT, routing_key: token })),
      'belongs to an intake for alertmanager',
    ],
    [deliver(EVENT), 'looks like a PagerDuty event'],
    [deliver('{"alerts": ['), 'not valid JSON'],
    [deliver('x'), 'not valid JSON'],
    [deliver(' '), 'The body is empty'],
    [deliver(`${'['.repeat(100)}${']'.repeat(100)}`), 'nested more than 32 levels deep'],
    [deliver(`{"a": [${'1,'.repeat(200_000)}1]}`), 'more than 200000 values'],
    [deliver({ ...firing, alerts: Array(10_001).fill({}) }), 'has 10001 alerts'],
    [deliver({ ...firing, alerts: [...firing.alerts, 3] }), 'alerts[1] must be an object'],
  ] as const;
  for (const [answer, words] of all) {
    const { status, text } = await answer;
    expect([status, text]).toEqual([400, expect.stringContaining(words)]);
  }
  expect((await deliver('x'.repeat(4 * 1024 * 1024 + 1))).status).toBe(413);
  const unknown = await deliver(firing, `/hooks/nagios/${token}`);
  expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining('uptime-kuma')]);
  expect((await ask(`/hooks/alertmanager/${token}`)).status).toBe(405);
  expect(slack.messages).toEqual([]);
  expect(intakes.get(intake.id)?.lastDeliveryAtMs).toBeUndefined();
});

test('a delivery of an event in PagerDuty’s form is answered as PagerDuty does', async () => {
  const { ask, token, slack } = await openIntakeServer({ kind: 'pagerduty' });
  const send = (event: object) => ask('/v2/enqueue', post({ routing_key: token, ...event }));
  const success = { status: 'success', message: 'Event processed', dedup_key: 'disk/db-1' };
  expect(await send(EVENT)).toMatchObject({ status: 202, body: success });
  await eventually(() => slack.messages.length === 1);
  await send({ ...EVENT, event_action: 'acknowledge' });
  const acknowledged = () => slack.messages[0] && textOf(slack.messages[0].card);
  await eventually(() => acknowledged()?.includes('Acknowledged by: Production'));
  expect(await send({ ...EVENT, event_action: 'resolve' })).toMatchObject({ status: 202 });
  await eventually(() => slack.messages[0]?.card.title.startsWith('RESOLVED: Disk full'));
  const { dedup_key: _, ...keyless } = EVENT;
  expect((await send(keyless)).body.dedup_key).toMatch(/./);
  const { status, body } = await send({ event_action: 'explode' });
  expect([status, body.status, body.errors]).toEqual([400, 'invalid event', [body.message]]);
});

/** A store whose state waits, or refuses, as the test says. */
function gated() {
  const gate = {
    wait: Promise.resolve(),
    fails: false,
    updates: 0,
    /** Holds updates up until the function that it gives is called. */
    hold() {
      let release = () => {};
      gate.wait = new Promise<void>((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
  const over = (store: Store): Store => ({
    ...store,
    async keyed(declaration) {
      const keyed = await store.keyed(declaration);
      return {
        ...keyed,
        async write(changes) {
          gate.updates += 1;
          await gate.wait;
          if (gate.fails) throw new Error('ENOSPC');
          await keyed.write(changes);
        },
      };
    },
  });
  return { gate, over };
}

/** A folder with an intake that has so many active alerts. */
async function withActiveAlerts(count: number) {
  const folder = await temporaryFolder();
  const store = await openTestStore({ folder, log: recordingLog().log });
  const intakes = await createIntakes(store);
  const { intake, token } = await intakes.add(OPS, {
    kind: 'alertmanager',
    name: 'Full',
    by: 'Amy',
  });
  const world = reportedWorld();
  const { id, name } = intake;
  world.take([{ intake: { id, name, place: placeKey(OPS) }, alerts: [firing('0')], truncated: 0 }]);
  const reported = Array.from({ length: count }, (_, at) =>
    world.reported().map((one) => ({ ...one, id: reportedId(id, `${at}`) })),
  ).flat();
  const state = await openWatchState(store);
  await state.update(() => ({ ...NOTHING_WATCHED, reported }));
  await store.close();
  return { folder, token };
}

test('deliveries are answered once they are stored, all that wait in few updates', async () => {
  const { gate, over } = gated();
  const { deliver, bot, url, token } = await openIntakeServer({ over });
  const release = gate.hold();
  let answered = 0;
  const names = Array.from({ length: 60 }, (_, at) => `Alert ${at}`);
  const all = names.map(async (name) => {
    const { status } = await deliver(delivery([{ name }]));
    answered += 1;
    return status;
  });
  await fetch(`${url}/hooks/alertmanager/${token}`, post('x'));
  const before = gate.updates;
  expect(answered).toBe(0);
  release();
  expect(new Set(await Promise.all(all))).toEqual(new Set([200]));
  expect(gate.updates - before).toBeLessThan(20);
  await bot.stop();
});

test('deliveries that cannot be stored are a 503 that says when to come again, and are taken then', async () => {
  const { gate, over } = gated();
  const { deliver, slack, lines } = await openIntakeServer({ over });
  gate.fails = true;
  for (const _ of [1, 2]) {
    const { status, headers, text } = await deliver(delivery([{ name: 'Queue' }]));
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect(text).toContain('Alerts cannot be stored right now.');
  }
  const logged = lines.filter(({ msg }) => `${msg}`.startsWith('could not store received alerts'));
  expect(logged).toHaveLength(1);
  gate.fails = false;
  expect((await deliver(delivery([{ name: 'Queue' }]))).status).toBe(200);
  await eventually(() => slack.messages.length === 1);
});

test('deliveries beyond what can wait are a 503, never a 429, and none that was taken is lost', async () => {
  const { gate, over } = gated();
  const { deliver, bot } = await openIntakeServer({ over, kind: 'generic' });
  const release = gate.hold();
  // Acknowledgements of unknown alerts take room but change nothing.
  const some = {
    alerts: [
      { key: 'disk', state: 'firing', name: 'Disk' },
      ...Array.from({ length: 9_000 }, (_, key) => ({ key, state: 'acknowledged', name: 'x' })),
    ],
  };
  const all = Array.from({ length: 4 }, () => deliver(some));
  const first = await Promise.race(all);
  expect([first.status, first.headers.get('retry-after')]).toEqual([503, '5']);
  release();
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 200, 503, 503]);
  await bot.stop();
  const refused = await deliver(some);
  expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('is stopping')]);
});

test('deliveries with a token are received while strangers announce bodies that never come', async () => {
  const { deliver, url } = await openIntakeServer();
  const strangers = await Promise.all(
    Array.from({ length: 150 }, async () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      socket.write('POST /v2/enqueue HTTP/1.1\r\nhost: x\r\ncontent-length: 524288\r\n\r\n{');
      return socket;
    }),
  );
  expect((await deliver(delivery([{ name: 'Queue' }]))).status).toBe(200);
  expect(strangers.filter(({ closed }) => closed)).toEqual([]);
});

test('deliveries to one intake that are many delay those to another by one update', async () => {
  const { gate, over } = gated();
  const { deliver, ask, intakes } = await openIntakeServer({ over });
  const other = await intakes.add(OPS, { kind: 'generic', name: 'Other', by: 'Amy' });
  const release = gate.hold();
  const before = gate.updates;
  const answered: string[] = [];
  const some = delivery(Array.from({ length: 800 }, (_, at) => ({ name: `${at}` })));
  const flood = Array.from({ length: 3 }, async () => {
    expect((await deliver(some)).status).toBe(200);
    answered.push('flood');
  });
  await eventually(() => gate.updates > before);
  const alert = { key: 'disk', state: 'firing', name: 'Disk full' };
  const small = ask(`/hooks/generic/${other.token}`, post(alert)).then(({ status }) => {
    answered.push('other');
    return status;
  });
  // Requests are read in order, so an answer to a later one shows that the body was read.
  await eventually(async () => (await ask('/v2/enqueue', post({}))).status === 401);
  release();
  expect(await small).toBe(200);
  expect(answered).toEqual(['other']);
  await Promise.all(flood);
});

test('deliveries that find no room among those that are active are a 503, and other intakes have room', async () => {
  const { folder, token } = await withActiveAlerts(10_000);
  const { deliver } = await openIntakeServer({ folder });
  const one = delivery([{ name: 'Database is down' }]);
  const { status, headers, text } = await deliver(one, `/hooks/alertmanager/${token}`);
  expect([status, headers.get('retry-after')]).toEqual([503, '60']);
  expect(text).toContain('1 alert could not be stored because too many are active.');
  expect(await deliver(one)).toMatchObject({ status: 200, body: { ok: true, alerts: 1 } });
});

test('deliveries in which one alert changes again and again are a 400', async () => {
  const { deliver } = await openIntakeServer({ kind: 'generic' });
  const alerts = Array.from({ length: 51 }, (_, at) => ({
    ...{ key: 'disk', name: 'Disk' },
    state: at % 2 ? 'resolved' : 'firing',
  }));
  expect((await deliver({ alerts: alerts.slice(1) })).status).toBe(200);
  const { status, text } = await deliver({ alerts });
  expect([status, text]).toEqual([400, expect.stringContaining('more than 50 times')]);
});

test('deliveries of thousands are stored a few at a time, with everything else having its turn', async () => {
  const { gate, over } = gated();
  const { deliver, slack } = await openIntakeServer({ over });
  const before = gate.updates;
  const names = Array.from({ length: 2_000 }, (_, at) => ({ name: `Alert ${at}` }));
  expect(await deliver(delivery(names))).toMatchObject({ status: 200, body: { alerts: 2_000 } });
  expect(gate.updates - before).toBeGreaterThanOrEqual(8);
  await eventually(() => slack.messages.length === 1);
  expect(slack.messages[0]?.card.title).toMatch(/^\d+ alerts are active$/);
  expect(slack.messages).toHaveLength(1);
});

test('no token is in a log line, a metric or an answer, whatever became of its delivery', async () => {
  const { deliver, ask, token, httpLines, lines } = await openIntakeServer();
  const answers = [
    await deliver(delivery([{ name: 'Queue' }])),
    await deliver('x'),
    await deliver(delivery([]), `/hooks/grafana/${token}`),
    await deliver(delivery([]), `/hooks/alertmanager/${token}/more`),
    await deliver(delivery([]), `/v2/enqueue/${token}`),
    await ask(`/hooks/alertmanager/${token}`),
  ];
  const said = JSON.stringify([answers.map(({ text }) => text), httpLines, lines]);
  expect(said).not.toContain(token.slice(8));
});
