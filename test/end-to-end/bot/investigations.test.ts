import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Message } from '../../../src/console/shared/api-types.ts';
import type { ModelProvider } from '../../fakes/model-provider.ts';
import type { MonitoringService } from '../../fakes/monitoring-service.ts';
import { conclusion } from '../../helpers/bot/investigated-bot.ts';
import { listedAt, openTab, post, repliesOf, saying } from '../../helpers/console/test-console.ts';
import { sharedAskwatch, startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { CHAT_DRIVERS, type ChatDriver } from '../../helpers/end-to-end/chat-driver.ts';
import { startModel, startWatched } from '../../helpers/end-to-end/services.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const PLATFORMS = Object.keys(CHAT_DRIVERS) as Array<keyof typeof CHAT_DRIVERS>;
const FIRST_CAUSE = 'Its web server refuses connections';
const RIGHTS = { WHO_MAY_ADD: 'everyone', WHO_MAY_MANAGE: 'everyone' };

describe('with a model', () => {
  const chats = {} as Record<keyof typeof CHAT_DRIVERS, ChatDriver>;
  /** By platform: each has an outage of its own, in the one channel that receives its alerts. */
  const monitors = new Map<string, string>();
  let model: ModelProvider;
  let service: MonitoringService;
  /** The model's later conclusions, by platform. */
  const causes = new Map<string, string>();

  const askwatch = sharedAskwatch(async (atEnd) => {
    const started = { ...(await startModel(atEnd)), watched: await startWatched('', atEnd) };
    model = started.model;
    service = started.watched.service;
    model.answerWith(({ messages }: { messages: Array<{ content: string }> }) => {
      const prompt = JSON.stringify(messages);
      const [, name = ''] = /F1 \S+ Shop (\w+)/.exec(prompt) ?? [];
      if (name !== '') return conclusion({ cause: causes.get(name) ?? FIRST_CAUSE });
      const isDraft = prompt.includes('Write a postmortem draft');
      return isDraft ? '# Postmortem draft\n\n## Summary\n\nIt was down.' : 'As I said.';
    });
    for (const name of PLATFORMS) chats[name] = await CHAT_DRIVERS[name](atEnd);
    return {
      ...{ ...chats.Slack.env, ...chats.Discord.env, ...started.env, ...started.watched.env },
      ...{ ...RIGHTS, ALERT_CHANNELS: '' },
    };
  });

  const setAll = (status: string) => {
    for (const id of monitors.values()) service.setStatus(id, status);
  };

  beforeAll(async () => {
    for (const name of [...PLATFORMS, 'console']) {
      monitors.set(name, service.add({ name: `Shop ${name}` }).id);
    }
    for (const name of PLATFORMS) {
      const chat = chats[name];
      chat.command('monitor alerts', { switch: 'on', filter: `Shop ${name}` });
      await chat.find(`Shop ${name}`);
      chat.command('monitor investigate', { switch: 'on', after: '10s' });
      await chat.find(/last 10 seconds are investigated, with up to 50,000 tokens a day/);
    }
    for (const text of ['/monitor alerts on "Shop console"', '/monitor investigate on after=10s']) {
      expect((await post(askwatch().url, saying(text))).status).toBe(200);
    }
    const polls = service.requests.length;
    await eventually(() => service.requests.length > polls + 2);
    setAll('DOWN');
  });

  describe.each(PLATFORMS)('on %s', (name) => {
    const chat = () => chats[name];
    const alert = () => chat().find(new RegExp(`Shop ${name} (is down|recovered)[^]*Incident`));
    const investigation = async () => (await chat().replies((await alert()).id))[0];

    test('an outage is investigated in the thread of its alert, without a notification', async () => {
      const { id } = await alert();
      const found = await eventually(() => {
        const [first] = chat().replies(id);
        return first?.text.includes(`Likely: ${FIRST_CAUSE}`) && first;
      });
      expect(found.text).toMatch(/Evidence[\s\S]*became DOWN[\s\S]*Try first[\s\S]*Not seen/);
      expect(found.isSilent).toBe(true);
      expect(chat().replies(id)).toHaveLength(1);
      await eventually(async () => /Likely[\s\S]*see thread/.test((await alert()).text));
    });

    test('its report is rated, and posted as a file in its thread', async () => {
      const { id = '' } = (await investigation()) ?? {};
      await chat().press('👍', id);
      await chat().find('Thank you');
      await chat().press('Details', id);
      const file = await eventually(() => chat().files().get('investigation.md'));
      expect(file).toContain('## Looked up');
    });

    test('a question in its thread is answered with the report', async () => {
      const { id: thread } = await alert();
      const before = model.calls.length;
      chat().mention('are you sure?', { thread });
      await chat().find(/As I said\.[\s\S]*tokens/);
      expect(JSON.stringify(model.calls[before]?.body)).toContain(FIRST_CAUSE);
    });

    test('it runs again in its message, until a person stops it', async () => {
      const { id = '' } = (await investigation()) ?? {};
      const cause = `The disk of ${name} is full`;
      causes.set(name, cause);
      await chat().press('Investigate again', id);
      await eventually(async () => (await investigation())?.text.includes(`Likely: ${cause}`));
      await eventually(async () => (await alert()).text.includes(cause));
      await chat().press('Not now', id);
      await eventually(async () => (await investigation())?.text.includes('turned investigations'));
      expect((await investigation())?.id).toBe(id);
    });

    test('the draft of its postmortem begins with it', async () => {
      service.setStatus(monitors.get(name) ?? '', 'UP');
      await chat().find(`Shop ${name} recovered`);
      await chat().press('Summarise', (await alert()).id);
      const [, draft] = await eventually(() =>
        [...chat().files()].find(([file]) => file.startsWith('postmortem-')),
      );
      expect(draft).toMatch(/Askwatch investigated at[\s\S]*\*\*Likely\*\*: The disk of/);
      expect(chat().breaches()).toEqual([]);
    });
  });

  test('the playground shows an investigation in the thread of its alert', async () => {
    const isAlert = ({ body }: Message) => JSON.stringify(body).includes('Shop console is down');
    const { url } = askwatch();
    const { id } = await eventually(async () => (await listedAt(url)).find(isAlert));
    const found = await eventually(async () => {
      const replies = await repliesOf(url, id);
      return replies.length === 1 && JSON.stringify(replies[0]).includes('Likely: ') && replies[0];
    });
    await (await openTab(url)).press(found, 'Not now', { thread: id });
    await eventually(async () =>
      JSON.stringify(await repliesOf(url, id)).includes('turned investigations off'),
    );
  });
});

test.each(PLATFORMS)('on %s, investigations are refused without a model', async (name) => {
  const chat = await CHAT_DRIVERS[name](onTestFinished);
  const env = { ...chat.env, ...RIGHTS };
  await startAskwatch({ dataDir: await temporaryFolder(), env });
  chat.command('monitor investigate', { switch: 'on' });
  await chat.find('Investigations need a model, and none is connected');
});
