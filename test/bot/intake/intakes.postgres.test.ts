import { describe, expect, test } from 'vitest';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

const OPS: Place = { platform: 'slack', channel: 'C1' };

describe.skipIf(!hasPostgres)('intakes of two processes', () => {
  test('count in both at once, are bounded together, and are soon removed in both', async () => {
    const { open } = await testDatabase();
    const openIntakes = async () => createIntakes(await open());
    const [one, other] = [await openIntakes(), await openIntakes()];
    const { intake, token } = await one.add(OPS, { kind: 'grafana', by: 'Amy' });
    expect(await other.byToken(token)).toEqual(intake);
    const more = Array.from({ length: 60 }, (_, at) =>
      (at % 2 === 0 ? one : other).add(OPS, { kind: 'generic', by: 'Amy' }),
    );
    const made = await Promise.allSettled(more);
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(49);
    expect(await one.list(OPS)).toEqual(await other.list(OPS));
    expect(new Set((await one.list(OPS)).map(({ name }) => name)).size).toBe(50);

    await other.remove(OPS, intake.id);
    expect(await other.byToken(token)).toBeUndefined();
    await eventually(async () => (await one.byToken(token)) === undefined);
  });
});
