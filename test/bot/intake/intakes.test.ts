import { expect, onTestFinished, test } from 'vitest';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { CommandError } from '../../../src/bot/shared/errors.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import { INTAKE_KINDS } from '../../../src/contracts/intake-kinds.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { filesWith, openTestStore } from '../../helpers/test-store.ts';

const OPS: Place = { platform: 'slack', channel: 'C1' };
const SHOP: Place = { platform: 'discord', channel: '123' };
const AMY = { kind: 'alertmanager', by: 'Amy' } as const;

async function openIntakes(randomText?: (length: number) => string) {
  const clock = { nowMs: 1_800_000_000_000 };
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const open = async () => {
    const store = await openTestStore({ folder, log });
    const nowMs = () => clock.nowMs;
    const intakes = await createIntakes(store, { nowMs, randomText });
    return { store, intakes };
  };
  let { store, intakes } = await open();
  onTestFinished(() => store.close());
  return {
    clock,
    folder,
    intakes,
    async reopen() {
      await store.close();
      ({ store, intakes } = await open());
      return intakes;
    },
  };
}

test('an intake is found by its token alone, also after a restart', async () => {
  const { intakes, clock, reopen } = await openIntakes();
  const { intake, token } = await intakes.add(OPS, { ...AMY, name: 'Production' });
  const { id } = intake;
  expect(intake).toEqual({
    ...{ id, kind: 'alertmanager', name: 'Production', place: OPS },
    ...{ createdAtMs: clock.nowMs, by: 'Amy' },
  });
  expect(token).toMatch(/^[A-Za-z0-9]{32}$/);
  const other = await intakes.add(SHOP, { kind: 'grafana', by: 'Bob' });
  expect(await intakes.byToken(token)).toEqual(intake);
  const again = await reopen();
  expect(await again.byToken(token)).toEqual(intake);
  expect(await again.byToken(other.token)).toEqual(other.intake);
  const wrong = (at: number) =>
    token.slice(0, at) + (token[at] === 'x' ? 'y' : 'x') + token.slice(at + 1);
  const all = [wrong(0), wrong(8), wrong(31), '', id, `${token}x`, token.slice(1), '../'.repeat(9)];
  for (const text of all) expect([text, await again.byToken(text)]).toEqual([text, undefined]);
});

test('a token is in no file, and as hard to guess as 128 bits', async () => {
  const { intakes, folder } = await openIntakes();
  const { intake, token } = await intakes.add(OPS, AMY);
  expect(await filesWith(intake.id, folder)).not.toEqual([]);
  expect(await filesWith(token.slice(8), folder)).toEqual([]);
  expect(JSON.stringify([intake, intakes.all(), await intakes.list(OPS)])).not.toContain('hash');
  expect((token.length - intake.id.length) * Math.log2(62)).toBeGreaterThan(128);
});

test('no two intakes have one id', async () => {
  const texts = ['a'.repeat(32), `aaaaaaaa${'b'.repeat(24)}`, 'c'.repeat(32)];
  const { intakes } = await openIntakes(() => texts.shift() ?? '');
  const first = await intakes.add(OPS, AMY);
  const second = await intakes.add(OPS, AMY);
  expect([first.token, second.token]).toEqual(['a'.repeat(32), 'c'.repeat(32)]);
  expect(await intakes.byToken(first.token)).toEqual(first.intake);
});

test('an intake without a name is called like what sends, and names of one channel differ', async () => {
  const { intakes } = await openIntakes();
  for (const kind of [...INTAKE_KINDS, 'grafana', 'grafana'] as const) {
    await intakes.add(OPS, { kind, by: 'Amy' });
  }
  const names = (await intakes.list(OPS)).map(({ name }) => name);
  expect(names).toEqual([
    ...['Alertmanager', 'Grafana', 'PagerDuty events', 'Uptime Kuma', 'Alerts'],
    ...['Grafana 2', 'Grafana 3'],
  ]);
  const twice = intakes.add(OPS, { ...AMY, name: ' alertManager ' });
  await expect(twice).rejects.toThrow('already has an intake called “alertManager”');
  await expect(intakes.add(OPS, { ...AMY, name: ' \n ' })).rejects.toThrow(CommandError);
  const elsewhere = await intakes.add(SHOP, { ...AMY, name: 'a\n\n b'.repeat(99) });
  expect(elsewhere.intake.name).toHaveLength(80);
  expect(elsewhere.intake.name).not.toContain('\n');
  expect(await intakes.list(OPS)).toHaveLength(7);
});

test('a channel has at most 50 intakes, however many are made at once', async () => {
  const { intakes } = await openIntakes();
  const made = await Promise.allSettled(Array.from({ length: 60 }, () => intakes.add(OPS, AMY)));
  const refused = made.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(refused).toHaveLength(10);
  expect(String(refused[0])).toContain('This channel already has 50 intakes');
  expect(await intakes.list(OPS)).toHaveLength(50);
  expect((await intakes.add(SHOP, AMY)).intake.name).toBe('Alertmanager');
});

test('a removed intake counts no more, and only its channel can remove it', async () => {
  const { intakes, reopen } = await openIntakes();
  const first = await intakes.add(OPS, { ...AMY, name: 'One' });
  const second = await intakes.add(OPS, { ...AMY, name: 'Two' });
  expect(await intakes.remove(SHOP, first.intake.id)).toBeUndefined();
  expect(await intakes.remove(OPS, 'Three')).toBeUndefined();
  expect(await intakes.remove(OPS, ' one ')).toEqual(first.intake);
  expect(await intakes.remove(OPS, second.intake.id)).toEqual(second.intake);
  for (const now of [intakes, await reopen()]) {
    expect(await now.byToken(first.token)).toBeUndefined();
    expect(await now.byToken(second.token)).toBeUndefined();
    expect([now.all(), now.places()]).toEqual([[], []]);
  }
});

test.each([
  { alertmanagerUrl: 'ftp://am.example' },
  { alertmanagerUrl: `http://${'a'.repeat(500)}` },
  { repeatMs: 59_999 },
  { repeatMs: 8 * 86_400_000 },
  { repeatMs: Number.NaN },
])('an intake with %j is refused', async (wrong) => {
  const { intakes } = await openIntakes();
  await expect(intakes.add(OPS, { ...AMY, ...wrong })).rejects.toThrow(CommandError);
  expect(await intakes.list(OPS)).toEqual([]);
});

test('the time of the last delivery is known to a minute', async () => {
  const { intakes, clock, reopen } = await openIntakes();
  const { intake } = await intakes.add(OPS, AMY);
  const heardAt = async (ms: number) => {
    await intakes.noteDelivery(intake.id, clock.nowMs + ms);
    return (intakes.get(intake.id)?.lastDeliveryAtMs ?? 0) - clock.nowMs;
  };
  expect([await heardAt(0), await heardAt(59_999), await heardAt(60_000)]).toEqual([0, 0, 60_000]);
  await intakes.noteDelivery('nobody', clock.nowMs);
  expect((await reopen()).get(intake.id)?.lastDeliveryAtMs).toBe(clock.nowMs + 60_000);
});
