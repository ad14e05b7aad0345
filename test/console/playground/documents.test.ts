import { expect, test } from 'vitest';
import {
  ALERTING,
  listedAt,
  lookedAt,
  openTab,
  repliesOf,
  startTestConsole,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const SETTINGS = { ...ALERTING, alertPlaces: [{ platform: 'console', channel: 'general' }] };

/** A console with a postmortem drafted by rules. */
async function startWithPostmortem(folder: string) {
  const running = await startTestConsole({ folder, settings: SETTINGS });
  const { url, service, provider } = running;
  const shop = service.add({ name: 'Shop <b>@everyone</b>' });
  await lookedAt(service);
  service.setStatus(shop.id, 'DOWN');
  await eventually(async () => (await listedAt(url)).length > 0);
  service.setStatus(shop.id, 'UP');
  const alert = await eventually(async () =>
    (await listedAt(url)).find((message) => JSON.stringify(message).includes('Summarise')),
  );
  provider.failWith({ kind: 'status', status: 503 });
  const tab = await openTab(url);
  await tab.press(alert, 'Summarise');
  const answer = await eventually(async () =>
    (await repliesOf(url, alert.id)).find(({ body }) => body.kind === 'answer' && body.document),
  );
  return { ...running, file: `/console/threads/${alert.id}/documents/${answer.id}`, alert };
}

test('the file of an answer is downloaded and never shown as a page, also after a restart', async () => {
  const folder = await temporaryFolder();
  const first = await startWithPostmortem(folder);
  const read = async (url: string) => {
    const response = await fetch(url);
    return { response, text: await response.text() };
  };
  const { response, text } = await read(first.url + first.file);
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/markdown; charset=utf-8',
    'content-disposition': expect.stringMatching(
      /^attachment; filename="postmortem-[a-z\d]{8}-\d{4}-\d\d-\d\d\.md"$/,
    ),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  expect(text).toMatch(/^# Postmortem draft: Shop .*\n\n## Summary\n/);
  expect(text).not.toMatch(/<b>|@everyone/);
  await first.stop();
  const second = await startTestConsole({ folder, settings: SETTINGS });
  expect((await read(second.url + first.file)).text).toBe(text);
});
