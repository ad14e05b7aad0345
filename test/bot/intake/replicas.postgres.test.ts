import { describe, expect, onTestFinished, test } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { isOpen } from '../../../src/bot/incidents/incidents.ts';
import { createIntake } from '../../../src/bot/intake/intake.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { delivery, OPS } from '../../helpers/intake/intake-server.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

describe.skipIf(!hasPostgres)('alerts that come in at two processes', () => {
  test('are opened once and ended once, whichever hears of what', async () => {
    const { open, log } = await testDatabase();
    async function start() {
      const store = await open();
      const [state, intakes] = [await openWatchState(store), await createIntakes(store)];
      const channels = createChannels(store);
      const telling = { state, nowMs: Date.now, onChange() {} };
      const intake = createIntake({ ...telling, intakes, channels, log });
      onTestFinished(() => intake.stop());
      return { state, intakes, intake };
    }
    const both = [await start(), await start()] as const;
    const { token } = await both[0].intakes.add(OPS, { kind: 'alertmanager', by: 'Amy' });
    async function deliver(at: number, names: string[], status: 'firing' | 'resolved') {
      const { intake } = both[at % 2 === 0 ? 0 : 1];
      const admitted = await intake.admit({ kind: 'alertmanager', token, address: 'a' });
      if ('status' in admitted) throw new Error('The token is not known.');
      const body = delivery(names.map((name) => ({ name, status })));
      const answer = await intake.receive(admitted, Buffer.from(JSON.stringify(body)));
      expect(answer).toMatchObject({ status: 200 });
    }
    const names = Array.from({ length: 60 }, (_, at) => `Alert ${at}`);
    // Peers send the same, each to the process that it reaches.
    const firing = [...names, ...names].map((name, at) => deliver(at, [name], 'firing'));
    await Promise.all(firing);
    const resolved = names.slice(0, 30).map((name, at) => deliver(at + 1, [name], 'resolved'));
    await Promise.all([...resolved, deliver(0, names.slice(0, 30), 'resolved')]);
    // Late at the other one.
    await Promise.all([0, 1].map((at) => deliver(at, names.slice(0, 30), 'firing')));
    for (const { state } of both) {
      await state.update((watching) => watching);
      const incidents = (state.current()?.alerts ?? []).filter(({ kind }) => kind === 'incident');
      expect(incidents).toHaveLength(60);
      expect(incidents.filter(isOpen)).toHaveLength(30);
      expect(state.current()?.reported).toHaveLength(60);
    }
  });
});
