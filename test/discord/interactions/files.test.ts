import { expect, test } from 'vitest';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startElsewhere } from '../../helpers/files/elsewhere.ts';
import { png } from '../../helpers/files/made-pictures.ts';
import { partsSaid, SEES } from '../../helpers/files/sending-bot.ts';

const PICTURE = { name: 'screen.png', bytes: png(), contentType: 'image/png' };
const SHOWN = `data:image/png;base64,${png().toString('base64')}`;
const LOG = { name: 'app.log', bytes: Buffer.from('line 1'), contentType: 'text/plain' };

async function start({ messageContent = false } = {}) {
  const running = await runDiscord({
    fake: { messageContentAllowed: messageContent },
    bot: { models: [{ id: 'sees', ...SEES }] },
    messageContent,
  });
  const { discord } = running;
  await running.bot.start([running.platform]);
  const textsIn = (channel: string) => discord.channel(channel).map(({ content }) => content);
  return {
    ...running /** The parts that the model was last given with the newest question. */,
    said: () => partsSaid(running.provider.calls.at(-1) as never).at(-1) ?? [],
    /** The last text of a thread, once it is whole. */
    answered: (thread: string) =>
      eventually(() => textsIn(thread).at(-1)?.includes('\n-# ') && textsIn(thread).at(-1)),
  };
}

/** The thread under a message. */
const under = ({ id }: FakeMessage) => id;
test('looks at the file that stands beside a command, and shows its name', async () => {
  const { discord, said, answered } = await start();
  const asked = discord.slash('ask', { question: 'What is it?', file: PICTURE });
  const id = await eventually(() => asked.reply?.content && asked.reply.id);
  await answered(id);
  expect(asked.reply?.content).toBe('**Alice** asked: What is it? (with screen.png)');
  expect(said()).toContain(SHOWN);
});
test('fetches a picture of earlier again by its message when its address is no longer good', async () => {
  const { discord, said, answered, provider } = await start({ messageContent: true });
  const first = discord.say('what is it?', { mention: true, files: [PICTURE] });
  await answered(under(first));
  discord.cdn.expire();
  const channel = discord.channelOf(under(first));
  discord.say('which colour?', { channel });
  await eventually(() => provider.calls.length === 2);
  expect(partsSaid(provider.calls[1] as never)[0]).toContain(SHOWN);
  expect(said()).toEqual(['which colour?']);
  expect(discord.cdn.requests.map(({ status }) => status)).toEqual([200, 404, 200]);
});

test.each(['deleted', 'taken off its message'])('says that a picture is gone: %s', async (gone) => {
  const { discord, answered, provider } = await start({ messageContent: true });
  const first = discord.say('what is it?', { mention: true, files: [PICTURE] });
  await answered(under(first));
  discord.cdn.expire();
  if (gone === 'deleted') discord.cdn.remove('screen.png');
  else first.attachments = [];
  const channel = discord.channelOf(under(first));
  discord.say('which colour?', { channel });
  await eventually(() => provider.calls.length === 2);
  expect(partsSaid(provider.calls[1] as never)[0]?.[1]).toMatch(
    /File “screen.png”, not shown: it is no longer there/,
  );
});

test('fetches nothing from elsewhere', async () => {
  const { discord, answered } = await start();
  const elsewhere = await startElsewhere();
  discord.cdn.faults.push({ kind: 'redirect', to: `${elsewhere.url}/secret.txt` });
  const message = discord.say('what is it?', { mention: true, files: [LOG] });
  expect(await answered(under(message))).toMatch(
    /app.log\S* was not read: Askwatch does not fetch files from its address\. Send the file itself/,
  );
  expect(elsewhere.heard).toEqual([]);
});

test('a file’s name is shown as plain text', async () => {
  const { discord, answered } = await start();
  const name = '@everyone **[x](https://evil.example)** <@123456789012345678>.zip';
  const bytes = Buffer.from('PK\x03\x04');
  const message = discord.say('what is it?', { mention: true, files: [{ name, bytes }] });
  const text = await answered(under(message));
  expect(text).not.toMatch(/@everyone|<@\d|\]\(https/);
  expect(text).toMatch(/was not read: it is an archive/);
});
