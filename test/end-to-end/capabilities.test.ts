import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type ModelProvider, startModelProvider } from '../fakes/model-provider.ts';
import { callOf } from '../helpers/bot/other-tools.ts';
import { sharedAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { CHAT_DRIVERS, type ChatDriver } from '../helpers/end-to-end/chat-driver.ts';
import { writeWatchedPast } from '../helpers/end-to-end/watched-past.ts';
import { eventually } from '../helpers/eventually.ts';
import { madePdf } from '../helpers/files/made-pdf.ts';
import { png } from '../helpers/files/made-pictures.ts';
import { partsSaid } from '../helpers/files/sending-bot.ts';
import { post } from '../helpers/http/running-server.ts';
import { delivery } from '../helpers/intake/intake-server.ts';
import type { AtEnd } from '../helpers/temporary-folder.ts';

const PICTURE = { name: 'screen.png', bytes: png(), mediaType: 'image/png' };
const LOG = { name: 'app.log', bytes: Buffer.from('ECONNRESET, 3 times'), mediaType: 'text/plain' };
const PDF = { name: 'bill.pdf', bytes: madePdf(['Invoice 4711']), mediaType: 'application/pdf' };

/** The README's capabilities, by the built program with all its parts. */
describe.each(Object.entries(CHAT_DRIVERS))('on %s', (_name, startDriver) => {
  let chat: ChatDriver;
  let model: ModelProvider;
  let target: Awaited<ReturnType<typeof startTarget>>;

  const askwatch = sharedAskwatch(async (atEnd, dataDir) => {
    target = await startTarget(atEnd);
    await writeWatchedPast(`${dataDir}/data`, { target: target.url, atEnd });
    model = await startModelProvider({ models: ['gpt-5.6-luna'] });
    atEnd(() => model.close());
    chat = await startDriver(atEnd);
    return {
      ...chat.env,
      OPENAI_API_KEY: model.apiKey,
      OPENAI_BASE_URL: `${model.url}/v1`,
      MONITOR_ALLOW_PRIVATE: '127.0.0.1/32',
      ALERT_POLL_SECONDS: '1',
      WHO_MAY_ADD: 'everyone',
      WHO_MAY_MANAGE: 'everyone',
    };
  });

  /** The newest prompt. */
  const told = () =>
    partsSaid(model.calls.at(-1) as never)
      .at(-1)
      ?.join('\n') ?? '';

  /** The model asks for one look-up or change, and says what came of it. */
  const callOnce = (name: string, input: object) =>
    model.answerWith((body: { messages: Array<{ role: string; content: string }> }) => {
      const last = body.messages.at(-1);
      return last?.role === 'tool' ? `Told: ${last.content}` : { calls: [callOf(name, input)] };
    });

  test('a question is answered in a thread that remembers', async () => {
    model.answerWith('Light is scattered.');
    chat.ask('why is the sky blue?');
    await chat.find(/Light is scattered\.[\s\S]*tokens/);
    const { id: thread } = await chat.find('why is the sky blue?');
    model.answerWith('Then it travels further.');
    chat.say('and at sunset?', { thread });
    await chat.find(/Then it travels further\.[\s\S]*tokens/);
    const said: Array<{ content: string }> = model.calls.at(-1)?.body.messages;
    expect(said.slice(1).map(({ content }) => content)).toEqual([
      'why is the sky blue?',
      'Light is scattered.',
      'and at sunset?',
    ]);
  });

  test('a picture, a text and the text of a PDF reach a model that sees', async () => {
    model.answerWith('A screen, a log and a bill.');
    chat.mention('what are these?', { files: [PICTURE, LOG, PDF] });
    const { text } = await chat.find(/A screen, a log and a bill\.[\s\S]*tokens/);
    expect(text).not.toContain('was not read');
    expect(told()).toContain(`data:image/png;base64,${PICTURE.bytes.toString('base64')}`);
    expect(told()).toContain('ECONNRESET, 3 times');
    expect(told()).toContain('Invoice 4711');
  });

  test('a message that is asked about reaches the model with its file', async () => {
    model.answerWith('The connection was cut.');
    const message = chat.say('Since the release:', { files: [LOG] });
    await chat.askAbout(message, { question: 'what does it mean?' });
    await chat.find('The connection was cut.');
    expect(told()).toContain('Since the release:');
    expect(told()).toContain('ECONNRESET, 3 times');
  });

  test('a mention in a thread of people reads what they wrote there', async () => {
    model.answerWith('You rolled back.');
    const thread = chat.say('The shop is slow');
    chat.say('We rolled back at noon', { thread });
    chat.mention('what did we do?', { thread });
    await chat.find('You rolled back.');
    expect(told()).toMatch(/The shop is slow\n.*We rolled back at noon\n[\s\S]*what did we do\?$/);
  });

  test('a model looks up what is watched', async () => {
    callOnce('list_monitors', {});
    chat.mention('is the shop up?');
    await chat.find(/Told: [\s\S]*Shop[\s\S]*tokens/);
  });

  test('what a model proposes is done once somebody confirms it', async () => {
    const address = `${target.url}/blog`;
    callOnce('create_monitor', { target: address, name: 'Blog', interval_seconds: 5 });
    chat.mention('watch the blog');
    await chat.find('Watch Blog?');
    chat.command('monitor list');
    expect((await chat.find(/1 monitor\b/)).text).not.toContain('Blog');
    await chat.press('Watch');
    await chat.find(/watching Blog/i);
  });

  test('a report sums up the past', async () => {
    chat.command('monitor report', { switch: 'now' });
    await chat.find(/weekly report[\s\S]*100 %/i);
  });

  test('a monitor that goes down is one message, which becomes its recovery, and a later outage is another', async () => {
    target.isUp = false;
    const { id } = await chat.find(/Blog is down/i);
    target.isUp = true;
    await eventually(async () => (await chat.find(/Blog recovered[\s\S]*Incident/)).id === id);
    target.isUp = false;
    const later = await chat.find(/Blog is down[\s\S]*Cause/i);
    expect(later.id).not.toBe(id);
    target.isUp = true;
    await eventually(async () => (await chat.find(/Blog recovered/)).id === later.id);
  });

  test('a monitor is shown with the chart of its response time', async () => {
    const before = chat.charts();
    chat.command('monitor show', { monitor: 'Shop' });
    await eventually(() => chat.charts() > before);
  });

  test('an alert of another system is one message, keeps a note, and ends as a file', async () => {
    chat.command('monitor intake', { action: 'add', kind: 'alertmanager' });
    const { text } = await chat.find('/hooks/alertmanager/');
    const url = /http:\/\/[^\s"`<>|]+\/hooks\/alertmanager\/[\w-]+/.exec(text)?.[0] ?? '';
    const send = async (status: 'firing' | 'resolved') =>
      expect((await fetch(url, post(delivery([{ name: 'DiskFull', status }])))).status).toBe(200);
    await send('firing');
    const alert = await chat.find('DiskFull');
    chat.say('note: cleaned the logs', { thread: alert.id });
    await eventually(async () => (await chat.find('DiskFull')).text.includes('cleaned the logs'));

    await send('resolved');
    model.answerWith('# Postmortem draft: DiskFull\n\n## Summary\n\nThe logs were large.');
    await chat.press('Summarise', alert.id);
    const [name, file] = await eventually(() =>
      [...chat.files()].find(([name]) => name.startsWith('postmortem-')),
    );
    expect(name).toMatch(/^postmortem-[a-z\d]{8}-\d{4}-\d\d-\d\d\.md$/);
    expect(file).toContain('The logs were large.');
    // The bot adds facts that the model left out.
    expect(file).toContain('cleaned the logs');
  });

  test('SIGTERM in the middle of an answer leaves a note, and no secret in the log', async () => {
    model.answerWith(Array(2_000).fill('word '), { chunkMs: 20 });
    chat.ask('a long story');
    await chat.find('word word');
    // With code 1 after ten seconds.
    expect(await askwatch().stop()).toBe(0);
    expect((await chat.find('word word')).text).toMatch(/word[\s\S]*restarting/);
    await eventually(() => chat.connections() === 0);
    expect(askwatch().output()).not.toMatch(chat.secrets);
    expect(chat.breaches()).toEqual([]);
  });
});

/** A web server that is up until a test says otherwise. */
async function startTarget(atEnd: AtEnd) {
  const target = { url: '', isUp: true };
  const server = createServer((_request, response) => {
    response.writeHead(target.isUp ? 200 : 503).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  target.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return target;
}
