import { expect, test } from 'vitest';
import type { CreatedIntake, IntakeList } from '../../../src/console/account/api-types.ts';
import { cardOf, textOf } from '../../helpers/bot.ts';
import {
  fetchAccount,
  startTestAccount,
  writeAccount,
} from '../../helpers/console/test-account.ts';

const list = (url: string) => fetchAccount<IntakeList>(url, 'intakes');

async function add(url: string, body: object): Promise<CreatedIntake> {
  const response = await writeAccount(url, 'intakes', body);
  expect(response.status).toBe(201);
  return (await response.json()) as CreatedIntake;
}

test('a new intake belongs to its channel, and its token is in no list and no log', async () => {
  const { url, say, logged } = await startTestAccount();
  const before = await list(url);
  expect(before.intakes).toEqual([]);
  expect(before.kinds.map(({ kind }) => kind)).toContain('alertmanager');
  const general = before.places.find(({ channel }) => channel === 'general');
  expect(general).toMatchObject({ key: 'console:general', name: 'general' });
  const { made, steps } = await add(url, {
    kind: 'grafana',
    place: 'console:general',
    name: 'Graphs',
  });
  const token = /^https:\/\/askwatch\.example\/hooks\/grafana\/([A-Za-z0-9]{32})$/.exec(
    steps[0]?.code ?? '',
  )?.[1];
  expect(token).toBeDefined();
  expect(made).toMatchObject({ name: 'Graphs', kindTitle: 'Grafana', place: general });
  const { intakes } = await list(url);
  expect(intakes).toEqual([made]);
  expect(JSON.stringify(await list(url))).not.toContain(token);
  expect(logged.join('')).not.toContain(token);
  expect(textOf(cardOf(await say('/monitor intake')))).toContain('Graphs');
  await expect(writeAccount(url, `intakes/${made.id}/remove`, {})).resolves.toHaveProperty(
    'status',
    200,
  );
  expect((await list(url)).intakes).toEqual([]);
  const again = await writeAccount(url, `intakes/${made.id}/remove`, {});
  expect(again.status).toBe(404);
  expect(await again.text()).toContain('already been removed');
});

test.each([
  [{ kind: 'fax', place: 'console:general' }, 'kind'],
  [{ kind: 'grafana', place: 'slack:C0123' }, 'one of the listed channels'],
  [{ kind: 'grafana', place: 'nowhere' }, 'one of the listed channels'],
  [{ kind: 'grafana', place: 'console:general', name: '\u200b' }, 'needs a name'],
  [{ kind: 'grafana', place: 'console:general', token: 'x' }, 'token'],
])('the body %j is refused, and creates nothing', async (body, why) => {
  const { url } = await startTestAccount();
  const response = await writeAccount(url, 'intakes', body);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(why);
  expect((await list(url)).intakes).toEqual([]);
});

test('a name that its channel has already is refused in a sentence', async () => {
  const { url } = await startTestAccount();
  const body = { kind: 'generic', place: 'console:general', name: 'Shop' };
  await add(url, body);
  const response = await writeAccount(url, 'intakes', body);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('already has an intake called “Shop”');
});
