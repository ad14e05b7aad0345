import { expect, test } from 'vitest';
import type { Home } from '../../../src/bot/home/home.ts';
import { nowCard } from '../../../src/bot/home/home.ts';
import type { Person, Place } from '../../../src/bot/shared/place.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';

const OPS: Place = { platform: 'slack', channel: 'C1' };
const SECRET: Place = { platform: 'slack', channel: 'G9' };
const ada: Person = { id: 'U1', name: 'Ada', mayManage: async () => false };
const grace: Person = { id: 'U9', name: 'Grace', mayManage: async () => true };

async function start(options: Parameters<typeof startTestBot>[0] = {}) {
  const running = await startTestBot(options);
  const { bot } = running;
  const say = (line: string, { place = OPS, person = ada } = {}) =>
    running.say(line, { place, person });
  const ownerOf = (person: Person, elsewhere: string[] = []) => ({
    platform: OPS.platform,
    id: person.id,
    at: async ({ channel }: Place) => (elsewhere.includes(channel) ? undefined : person),
  });
  const home = async (person = ada, elsewhere: string[] = []) =>
    await bot.homes.of(ownerOf(person, elsewhere));
  const open = (person: Person, asked: Record<string, string>) =>
    bot.homes.open(ownerOf(person), asked);
  return { ...running, say, home, open };
}

const shown = ({ channels }: Home) =>
  channels.map(
    ({ place, parts }) => `${place.channel}: ${textOf({ tone: 'info', title: '', parts })}`,
  );

const monitor = (id: number, more: Partial<Monitor> = {}): Monitor => ({
  id: `mon_${id}`,
  name: `Shop ${id}`,
  check_type: 'HTTP',
  target: `https://${id}.example`,
  status: 'UP',
  interval_seconds: 60,
  ...more,
});

test('an empty home shows how to begin', async () => {
  const { home } = await start();
  const empty = await home();
  expect(empty.now.title).toBe('No monitors yet');
  expect(empty.help && textOf(empty.help)).toContain('/monitor add https://');
  expect(empty.channels).toEqual([]);
});

test('a home shows the newest outages with time and cause', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 9, minute)).toISOString();
  const down = Array.from({ length: 60 }, (_, id) =>
    monitor(id, { status: 'DOWN', status_changed_at: at(id), status_reason: `cause ${id}` }),
  );
  const up = Array.from({ length: 440 }, (_, id) => monitor(1_000 + id));
  const card = nowCard([...up, ...down]);
  expect([card.tone, card.title]).toEqual(['bad', '500 monitors: 60 DOWN, 440 UP']);
  const text = textOf(card);
  expect(text.indexOf('Shop 59')).toBeGreaterThan(0);
  expect(text.indexOf('Shop 59')).toBeLessThan(text.indexOf('Shop 58'));
  expect(text).toContain(`Down since: at ${Date.parse(at(59))}\nCause: cause 59`);
  expect(text).not.toContain('Shop 39\n');
  expect(text).not.toContain('Shop 1001');
  expect(text).toContain('40 more are down: /monitor list down');
  expect(nowCard([monitor(1), monitor(2)])).toMatchObject({ tone: 'good', parts: [] });
});

test('the bot’s incident fills in a missing time and cause', async () => {
  const { bot, service, home } = await start();
  const shop = service.add({ name: 'Shop', target: 'https://ada:secret@shop.example/' });
  await bot.start([]);
  try {
    service.setStatus(shop.id, 'DOWN');
    const beforeMs = Date.now();
    const card = await eventually(async () => {
      const { now } = await home();
      const [part] = now.parts;
      const since =
        part?.kind === 'facts' && part.facts.find(({ label }) => label === 'Down since');
      return since ? { now, since } : undefined;
    });
    const { value } = card.since;
    if (typeof value === 'string' || !('atMs' in value)) throw new Error('Wanted a moment.');
    expect(value.atMs).toBeGreaterThanOrEqual(beforeMs - 60_000);
    expect(textOf(card.now)).not.toContain('secret');
  } finally {
    await bot.stop();
  }
});

test('a home says if the service does not answer, and shows the rest', async () => {
  const { home, service, say } = await start();
  await say('/askwatch help');
  service.failWith({ kind: 'status', status: 503 });
  const { now, channels, help } = await home();
  expect(now.title).toBe('Can’t show what is down');
  expect(textOf(now)).toContain('answered with an error (503)');
  expect(channels).toHaveLength(1);
  expect(help).toBeUndefined();
});

test('a channel shows its settings, with buttons only for people with the right', async () => {
  const { home, say } = await start({ settings: { alertPlaces: [OPS] } });
  await say('/monitor alerts on shop');
  await say('/askwatch model test-vision', { person: grace });
  await say('/askwatch prompt Be brief.', { person: grace });
  const [text = ''] = shown(await home());
  expect(text).toContain('ALERT_CHANNELS');
  expect(text).toContain('Model: test-vision\nPrompt: Be brief.');
  expect((await home()).channels[0]?.actions).toEqual([]);
  const { channels } = await home(grace);
  expect(channels[0]?.actions.map(({ label }) => label)).toEqual(['Change model', 'Change prompt']);
});

test('a home shows only channels in which its person used Askwatch', async () => {
  const { home, say } = await start();
  await say('/askwatch prompt A secret prompt.', { place: SECRET, person: grace });
  await say('/askwatch help');
  expect(shown(await home())).toEqual([expect.stringContaining('C1: ')]);
  expect(JSON.stringify(await home())).not.toContain('secret');
  expect(shown(await home(grace))[0]).toContain('G9: ');
  expect((await home(grace, ['G9'])).channels).toEqual([]);
});

test('a home shows the last fifteen channels, and the number of the others', async () => {
  const { home, say } = await start();
  for (let count = 1; count <= 18; count += 1) {
    await say('/askwatch help', { place: { platform: 'slack', channel: `C${count}` } });
  }
  const { channels, more } = await home();
  expect([channels.length, channels[0]?.place.channel, more]).toEqual([15, 'C18', 3]);
});

test('a form opens only with the right, and never by a forged press', async () => {
  const { open, say } = await start();
  await say('/askwatch help');
  await say('/askwatch help', { person: grace });
  const place = 'slack:C1';
  expect(await open(grace, { form: 'askwatch model', place })).toMatchObject({
    place: OPS,
    begin: { values: { model: 'default' } },
  });
  const refused = async (person: Person, asked: Record<string, string>) => {
    const opened = await open(person, asked);
    return 'card' in opened ? textOf(opened.card) : 'a form';
  };
  expect(await refused(ada, { form: 'askwatch model', place })).toMatch(
    /Only people who can manage/,
  );
  for (const asked of [
    { form: 'askwatch model', place: 'slack:G9' },
    { form: 'askwatch model', place: 'discord:1' },
    { form: 'askwatch model', place: 'nonsense' },
    { form: 'monitor remove', place },
    { place },
    {},
  ]) {
    expect(await refused(grace, asked as Record<string, string>)).toContain('hasn’t seen you');
  }
});
