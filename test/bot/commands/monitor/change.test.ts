import { expect, test } from 'vitest';
import { formFields } from '../../../../src/bot/commands/form.ts';
import { monitorChange } from '../../../../src/bot/commands/monitor/change.ts';
import type { Person } from '../../../../src/bot/shared/place.ts';
import type { MonitorCreateInput } from '../../../../src/contracts/monitoring.ts';
import { CHANNEL, cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { folderWithDeclared } from '../../../helpers/monitoring/declared.ts';
import { startService } from '../../../helpers/monitoring/service.ts';

const admin: Person = { id: 'U9', name: 'Grace', mayManage: async () => true };
const member: Person = { id: 'U1', name: 'Ada', mayManage: async () => false };

const MONITORS: Record<string, MonitorCreateInput> = {
  HTTP: {
    name: 'My shop',
    check_type: 'HTTP',
    target: 'http://127.0.0.1:9/',
    config: { json: 'queue < 100' },
  },
  KEYWORD: {
    name: 'My shop',
    check_type: 'KEYWORD',
    target: 'http://127.0.0.1:9/?token=s3cret&a=1',
    config: { target_keyword: 'Cart' },
  },
  TCP: {
    name: 'My shop',
    check_type: 'TCP',
    target: '127.0.0.1:9',
    config: { send: 'AUTH s3cret', expect: 'OK', tls: true, timeout_seconds: 30 },
  },
  CERTIFICATE: {
    name: 'My shop',
    check_type: 'CERTIFICATE',
    target: '127.0.0.1:9',
    config: { starttls: 'smtp' },
  },
  DNS: {
    name: 'My shop',
    check_type: 'DNS',
    target: 'shop.example',
    config: { record_type: 'MX' },
  },
  HEARTBEAT: {
    name: 'My shop',
    check_type: 'HEARTBEAT',
    target: 'job',
    config: { cron: '0 3 * * *', timezone: 'Europe/Berlin', grace_seconds: 5_400 },
  },
};

/** A bot over the real service with one monitor. */
async function start(type: string) {
  const service = await startService();
  const { id } = await service.create(MONITORS[type] ?? {});
  const { bot, send, say } = await startTestBot({ watched: service });
  const request = (values: Record<string, string>) => ({
    command: 'monitor change',
    values: { monitor: id, ...values },
  });
  return {
    say: (line: string, person = admin) => say(line, { person }),
    told: async (line: string) => textOf(cardOf(await say(line, { person: admin }))),
    now: async () => (await service.get(`/api/v1/public/monitors/${id}`)).body,
    openForm: (person = admin) =>
      bot.formOfPress(request({}), async () => ({ place: CHANNEL, person })),
    submit: (values: Record<string, string>) => send(request(values), { person: admin }),
  };
}

test.each<[string, string, string, object, string[]?]>([
  ['HTTP', 'interval=5m', 'Every: 1 minute → 5 minutes', { interval_seconds: 300 }],
  ['HTTP', 'json="queue < 50"', 'JSON: queue < 100 → queue < 50', { json: 'queue < 50' }],
  ['HTTP', 'json=""', 'JSON: queue < 100 → any', {}, ['json']],
  ['HTTP', 'timeout=20s', 'Timeout: 20 seconds', { timeout_seconds: 20 }],
  ['KEYWORD', 'keyword="My cart"', 'Keyword: Cart → My cart', { target_keyword: 'My cart' }],
  ['DNS', 'record=TXT', 'Record: MX → TXT', { record_type: 'TXT' }],
  ['DNS', 'record=', 'Record: MX → default', { record_type: 'A' }],
  ['TCP', 'expect=PONG', 'Expects: OK → PONG', { expect: 'PONG' }],
  ['TCP', 'send=QUIT', 'Sends: a new text, which is never shown', { send: '…' }],
  ['CERTIFICATE', 'days=30', 'Warns: 14 days before expiry → 30 days', { days_left: 30 }],
  ['CERTIFICATE', 'starttls=""', 'STARTTLS: smtp → none', { starttls: 'none' }],
  ['HEARTBEAT', 'cron="0 4 * * *"', 'Pinged at: 0 3 * * * → 0 4 * * *', { cron: '0 4 * * *' }],
  ['HEARTBEAT', 'zone=UTC', 'Time zone: Europe/Berlin → UTC', { timezone: 'UTC' }],
  ['HEARTBEAT', 'grace=2h', 'Grace: 1 hour 30 minutes → 2 hours', { grace_seconds: 7200 }],
  [
    'HEARTBEAT',
    'interval=1h',
    'Every: 1 hour\nPinged at: 0 3 * * * → an interval',
    { period_seconds: 3600, timezone: 'UTC' },
    ['cron'],
  ],
])('a setting of a %s monitor changes: %s', async (...row) => {
  const [type, words, shown, config, removed = []] = row;
  const { say, now } = await start(type);
  const reply = await say(`/monitor change my shop ${words}`);
  expect(reply).toMatchObject({ private: false, card: { footer: 'By Grace' } });
  expect(textOf(cardOf(reply))).toContain(`My shop was changed\n${shown}`);
  expect(textOf(cardOf(reply))).not.toContain('QUIT');
  const { config: stored } = await now();
  expect(stored).toMatchObject(config);
  for (const name of removed) expect(stored).not.toHaveProperty(name);
});

test('a name and a target change, and a secret in the target is masked', async () => {
  const { told, now } = await start('KEYWORD');
  const shown = await told('/monitor change my shop name="Shop EU" target=127.0.0.1:9/eu?key=abc');
  expect(shown).toContain('Name: My shop → Shop EU');
  expect(shown).toContain('?token=…&a=1 → https://127.0.0.1:9/eu?key=…');
  expect(await now()).toMatchObject({ name: 'Shop EU', check_type: 'KEYWORD' });
});

test('tags change, and an empty text removes them', async () => {
  const { told, now } = await start('HTTP');
  expect(await told('/monitor change my shop tags=Shop,eu')).toContain('Tags: none → eu, shop');
  expect((await now()).tags).toEqual(['eu', 'shop']);
  expect(await told('/monitor change my shop tags=eu,shop')).toContain('Nothing has changed.');
  expect(await told('/monitor change my shop tags=eu interval=5m')).toContain('eu, shop → eu');
  expect(await told('/monitor change my shop interval=6m')).not.toContain('Tags');
  expect(await told('/monitor change my shop tags=""')).toContain('Tags: eu → none');
  expect(await now()).not.toHaveProperty('tags');
});

test('a TCP target begins with tls:// if TLS is on', async () => {
  const { told, now } = await start('TCP');
  const port = await told('/monitor change my shop send=PING target=tls://127.0.0.1:10');
  expect(port).toContain('Target: tls://127.0.0.1:9 → tls://127.0.0.1:10');
  expect(await now()).toMatchObject({ target: '127.0.0.1:10', config: { tls: true } });
  await told('/monitor change my shop send=PING target=127.0.0.1:10');
  expect(await now()).toMatchObject({ target: '127.0.0.1:10', config: { tls: false } });
});

test.each([
  ['HTTP', 'keyword=Cart', '“keyword” works with type=KEYWORD, not with type=HTTP.'],
  ['HTTP', 'type=TCP', 'A monitor keeps its type'],
  ['HTTP', 'interval=2d', 'can be at most 1 day, except for a heartbeat'],
  ['HTTP', 'target=ftp://x.example', 'is not a web address'],
  ['HEARTBEAT', 'timeout=10s', 'A heartbeat has no “timeout”.'],
  ['HEARTBEAT', 'cron="0 3"', 'A crontab has five fields'],
  ['HEARTBEAT', 'cron="" zone=UTC', '“zone” needs “cron”'],
  ['HEARTBEAT', 'cron="0 4 * * *" interval=1d', 'Set “interval” or “cron”, not both.'],
])('an input that does not go with a %s monitor changes nothing: %s', async (...row) => {
  const [type, words, sentence] = row;
  const { told, now } = await start(type);
  const before = await now();
  expect(await told(`/monitor change my shop ${words}`)).toContain(sentence);
  expect(await now()).toMatchObject({ target: before.target, config: before.config });
});

test('shows the settings and an example if no values are given', async () => {
  const { say, told } = await start('TCP');
  const reply = await say('/monitor change my shop');
  expect(reply).toMatchObject({ private: true, card: { actions: [{ label: 'Change' }] } });
  expect(textOf(cardOf(reply))).toBe(
    [
      'Change My shop',
      'Name the settings to change and their new values.',
      'name: My shop\ntarget: tls://127.0.0.1:9\ninterval: 1m\nexpect: OK\nsend: not shown\ntags: not set\ntimeout: 30s\nrunbook: not set',
      '/monitor change My shop interval=5m\n',
    ].join('\n'),
  );
  const same = await told('/monitor change my shop interval=60 name="My shop" expect=OK');
  expect(same).toContain('My shop already has these settings\nNothing has changed.');
});

test('only people who manage monitors can change one', async () => {
  const { say, openForm } = await start('HTTP');
  const refused = textOf(cardOf(await say('/monitor change my shop interval=5m', member)));
  expect(refused).toContain('can change monitors. Ask one of them.');
  expect(await openForm(member)).toBeUndefined();
});

test.each([
  ['HTTP', { interval: '1m', json: 'queue < 100' }, ['json', 'tags', 'timeout']],
  ['KEYWORD', { target: 'http://127.0.0.1:9/?token=…&a=1' }, ['keyword', 'tags', 'timeout']],
  ['TCP', { target: 'tls://127.0.0.1:9', timeout: '30s' }, ['expect', 'send', 'tags', 'timeout']],
  ['CERTIFICATE', { days: '14', interval: '1h' }, ['days', 'starttls', 'tags', 'timeout']],
  ['DNS', { record: 'MX' }, ['record', 'tags', 'timeout']],
  ['HEARTBEAT', { zone: 'Europe/Berlin', grace: '90m' }, ['cron', 'zone', 'grace', 'tags']],
])(
  'the form of a %s monitor shows its settings, and sent as it is changes nothing',
  async (...row) => {
    const [type, values, inputs] = row;
    const { openForm, submit, now } = await start(type);
    const { begin, carried, isAll } = (await openForm()) ?? {};
    expect(isAll).toBe(true);
    expect(begin?.values).toMatchObject({ name: 'My shop', ...values });
    expect(begin?.values).not.toHaveProperty('send');
    const fields = formFields(monitorChange, carried ?? {}, begin);
    expect(fields.map(({ name }) => name)).toEqual(['name', 'target', 'interval', ...inputs]);
    const before = await now();
    const empty = Object.fromEntries(fields.map(({ name }) => [name, '']));
    const reply = cardOf(await submit({ ...empty, ...begin?.values }));
    expect(reply.title).toBe('My shop already has these settings');
    expect((await now()).config).toEqual(before.config);
  },
);

test('an emptied input of the form resets its setting, except for a text to send', async () => {
  const { submit, now } = await start('TCP');
  const shown = textOf(cardOf(await submit({ expect: '', send: '', timeout: '', interval: '2m' })));
  expect(shown).toContain(
    'Every: 1 minute → 2 minutes\nTimeout: 30 seconds → default\nExpects: OK',
  );
  const { config } = await now();
  expect(config).toMatchObject({ send: '…', interval_seconds: 120 });
  expect(config).not.toHaveProperty('expect');
});

test('a monitor of a file is changed only there, and its card has no button', async () => {
  const managedBy = { file: 'monitors.yaml', line: 3, key: 'shop' };
  const monitor = MONITORS.HTTP as MonitorCreateInput;
  const folder = await folderWithDeclared({
    mon_1: { monitor, managedBy, maintenance: [], channels: [] },
  });
  const service = await startService({ folder, monitorsFile: '/nowhere/monitors.yaml' });
  const { say } = await startTestBot({ watched: service, settings: { mayManage: 'everyone' } });
  expect(cardOf(await say('/monitor show my shop')).actions).toEqual([]);
  const refused = textOf(cardOf(await say('/monitor change my shop interval=5m')));
  expect(refused).toContain('declared in monitors.yaml, line 3, as shop, and can only be changed');
});
