import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { openTab, repliesOf, startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { png } from '../../helpers/files/made-pictures.ts';
import { partsSaid, SEES } from '../../helpers/files/sending-bot.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

test.skipIf(!hasPostgres)(
  'a file that one process was given is read by the bot of another, and shown by both',
  async () => {
    const { open } = await testDatabase();
    const provider = await startModelProvider({ models: [{ id: 'sees', ...SEES }] });
    const withBot = await startTestConsole({ provider, store: await open() });
    const without = await startTestConsole({ store: await open(), hasBot: false });
    const tab = await openTab(without.url);
    const picture = png(2, 2, { padding: 600_000 });
    const data = picture.toString('base64');
    const given = await tab.tell('files', { channel: 'general', name: 'screen.png', data });
    const { id: file } = await given.json();
    const id = randomUUID();
    const asked = { id, channel: 'general', text: 'what is it?', files: [file] };
    expect((await tab.tell('sayings', asked)).status).toBe(200);
    await eventually(async () => {
      const replies = await repliesOf(without.url, `q${id}`);
      return replies.some(({ body }) => body.kind === 'answer' && !body.growing);
    });
    expect(partsSaid(provider.calls[0] as never)[0]?.[2]).toBe(`data:image/png;base64,${data}`);
    for (const { url } of [withBot, without]) {
      const shown = await fetch(`${url}/console/files/${file}`);
      expect(Buffer.from(await shown.arrayBuffer()).equals(picture)).toBe(true);
    }
  },
);
