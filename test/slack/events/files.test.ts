import { expect, test } from 'vitest';
import { filesIn } from '../../../src/slack/api/files.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startElsewhere } from '../../helpers/files/elsewhere.ts';
import { png } from '../../helpers/files/made-pictures.ts';
import { partsSaid, SEES } from '../../helpers/files/sending-bot.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

const PICTURE = { name: 'screen.png', bytes: png(), mimetype: 'image/png' };
const SHOWN = `data:image/png;base64,${png().toString('base64')}`;
const LOG = { name: 'app.log', bytes: Buffer.from('line 1'), mimetype: 'text/plain' };
const DIRECT = 'D00ADA';

async function run() {
  const running = await runSlack({ bot: { models: [{ id: 'sees', ...SEES }] } });
  running.fake.addChannel({ id: DIRECT });
  const { provider } = running.bot;
  return {
    ...running,
    provider,
    /** The parts of the newest question that the model was given. */
    said: () => partsSaid(provider.calls.at(-1) as never).at(-1) ?? [],
  };
}

/** The text of the newest answer in a thread, once it is whole. */
const answered = (fake: SlackFake, thread: string, channel = CHANNEL) =>
  eventually(() => {
    const answers = fake.thread(channel, thread).filter(({ bot_id }) => bot_id);
    const text = answers.map((one) => shownText(one)).at(-1);
    return text?.includes('sees · ') && text;
  });
test('asks what is in a picture that is sent directly, without a word', async () => {
  const { fake, said } = await run();
  const thread = fake.say('', { channel: DIRECT, files: [PICTURE] });
  await answered(fake, thread, DIRECT);
  expect(said()[0]).toBe('What is in this?');
  expect(said()).toContain(SHOWN);
});
test('fetches a picture again for a later question, and says when it is gone', async () => {
  const { fake, provider } = await run();
  const thread = fake.mention('what is it?', { files: [PICTURE] });
  await answered(fake, thread);
  fake.say('which colour?', { threadTs: thread });
  await eventually(() => provider.calls.length === 2);
  expect(partsSaid(provider.calls[1] as never)[0]).toContain(SHOWN);
  fake.files.remove('screen.png');
  await eventually(() => fake.thread(CHANNEL, thread).length === 3);
  fake.say('and its size?', { threadTs: thread });
  await eventually(() => provider.calls.length === 3);
  expect(partsSaid(provider.calls[2] as never)[0]?.[1]).toMatch(
    /File “screen.png”, not shown: it is no longer there/,
  );
});

test('asks Slack for a file of another workspace, of which it has only the id', async () => {
  const { fake, said } = await run();
  const thread = fake.mention('what is it?', { files: [{ ...PICTURE, connect: true }] });
  await answered(fake, thread);
  expect(said()).toContain(SHOWN);
  expect(fake.calls.filter(({ method }) => method === 'files.info')).toHaveLength(1);
});

const NO_SCOPE =
  /was not read: the Slack app lacks the scope files:read\. Add it under "?“?OAuth & Permissions/;

test.each(['a message', 'another workspace'])(
  'says which scope is missing, for a file of %s',
  async (of) => {
    const { fake } = await run();
    fake.scopes.delete('files:read');
    const connect = of === 'another workspace';
    const thread = fake.mention('what is it?', { files: [{ ...PICTURE, connect }] });
    expect(await answered(fake, thread)).toMatch(NO_SCOPE);
  },
);

test('takes the page to sign in for what it is, also where it comes in place of the file', async () => {
  const { fake, provider } = await run();
  fake.files.faults.push({ kind: 'page' });
  const thread = fake.mention('what is it?', { files: [PICTURE] });
  expect(await answered(fake, thread)).toMatch(NO_SCOPE);
  expect(JSON.stringify(provider.calls)).not.toContain('Sign in');
});

test('takes the page to sign in for no page that somebody sent', async () => {
  const { fake } = await run();
  fake.scopes.delete('files:read');
  const page = { name: 'page.html', bytes: Buffer.from('<h1>Hello</h1>'), mimetype: 'text/html' };
  const thread = fake.mention('what is it?', { files: [page] });
  expect(await answered(fake, thread)).toMatch(NO_SCOPE);
});

test('reads a page that somebody sends', async () => {
  const { fake, said } = await run();
  const page = { name: 'page.html', bytes: Buffer.from('<h1>Hello</h1>'), mimetype: 'text/html' };
  const thread = fake.mention('what is it?', { files: [page] });
  await answered(fake, thread);
  expect(said()[1]).toContain('<h1>Hello</h1>');
});

test('sends the token nowhere but to Slack, and fetches nothing from elsewhere', async () => {
  const { fake } = await run();
  const elsewhere = await startElsewhere();
  fake.files.faults.push({ kind: 'redirect', to: `${elsewhere.url}/stolen` });
  const planted = (url: string) => ({ ...LOG, more: { url_private_download: url } });
  const files = [
    LOG,
    planted(`${elsewhere.url}/files-pri/x`),
    planted('http://169.254.169.254/latest/meta-data'),
    planted('https://files.slack.com.evil.example/x'),
    planted(fake.apiUrl.replace('http://', 'http://user:password@')),
    planted('file:///etc/passwd'),
  ];
  const thread = fake.mention('what is it?', { files });
  expect(await answered(fake, thread)).toMatch(/Askwatch does not fetch files from its address/);
  expect(elsewhere.heard).toEqual([]);
  expect(fake.files.requests).toHaveLength(1);
});

test('drops the token where Slack itself leads on', async () => {
  const { fake, said } = await run();
  fake.files.faults.push({ kind: 'redirect', to: '/files-pri/T00FAKE-F00FAKE1/moved' });
  const thread = fake.mention('what is it?', { files: [LOG] });
  await answered(fake, thread);
  expect(fake.files.requests.map(({ authorization }) => authorization)).toEqual([
    `Bearer ${fake.botToken}`,
    undefined,
  ]);
  expect(said()[1]).toMatch(/not shown/);
});

test.each([
  [{ mode: 'external', is_external: true }, /stored outside Slack\. Send the file itself/],
  [{ mode: 'hidden_by_limit' }, /this workspace’s plan hides files this old/],
  [{ mode: 'tombstone' }, /it is no longer there/],
  [{ filetype: 'quip', mode: 'quip' }, /it is a canvas or a list/],
])('says why a file cannot be had: %j', async (more, why) => {
  const { fake } = await run();
  const thread = fake.mention('what is it?', { files: [{ ...PICTURE, more }] });
  expect(await answered(fake, thread)).toMatch(why);
  expect(fake.files.requests).toEqual([]);
});
test.each([undefined, null, 'x', {}, [null, 1, 'x', {}, { id: 5 }, { name: 'x' }]])(
  'finds no file in what is none: %j',
  (files) => {
    expect(filesIn(files)).toEqual([]);
  },
);

test('keeps of a file what is small, whatever is told', () => {
  const files = filesIn([
    {
      id: 'F1',
      name: 'x'.repeat(100_000),
      mimetype: 5,
      size: -1,
      url_private: `https://files.slack.com/${'x'.repeat(100_000)}`,
    },
    ...Array.from({ length: 1_000 }, (_, at) => ({ id: `F${at}` })),
  ]);
  expect(files).toHaveLength(10);
  expect(JSON.stringify(files).length).toBeLessThan(2_000);
});

test('a file’s name is shown as plain text', async () => {
  const { fake } = await run();
  const name = '<!channel> *a* <https://evil.example|b> <@U00ADA>.zip';
  const files = [{ name, bytes: Buffer.from('PK\x03\x04') }];
  const thread = fake.mention('what is it?', { files });
  const text = await answered(fake, thread);
  expect(text).toMatch(/was not read: it is an archive/);
  const answer = fake.thread(CHANNEL, thread).at(-1);
  expect(answer?.called).toEqual([]);
  const blocks = answer?.blocks as Array<{ elements?: Array<{ type: string; text: string }> }>;
  const elements = blocks
    .flatMap(({ elements: all = [] }) => all)
    .filter((one) => String(one.text).includes('evil.example'));
  expect(elements.map(({ type }) => type)).toEqual(['plain_text']);
});
