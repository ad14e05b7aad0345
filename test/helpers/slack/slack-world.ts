import { onTestFinished } from 'vitest';
import { ASK_ABOUT } from '../../../src/bot/commands/ask-about.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import type { Ephemeral, Message } from '../../fakes/slack/workspace.ts';
import { startTestBot } from '../bot.ts';
import type { ChatWorld, SeenMessage, WorldOptions } from '../platform-contract/world.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { makeSlack, RESTING, WATCHING } from './running-slack.ts';

const USERS = ['U00ADA', 'U00GRACE'] as const;

/** A command line's values: named ones, then the question or monitor. */
const lineOf = ({ question, monitor, ...named }: Record<string, unknown>) =>
  [...Object.entries(named).map(([name, value]) => `${name}="${value}"`), question ?? monitor]
    .filter((word) => word !== undefined)
    .join(' ');

export async function openSlackWorld(options: WorldOptions = {}): Promise<ChatWorld> {
  const { alerts = false, folderFor, ...botOptions } = options;
  const fake = await startSlack();
  const place = { platform: 'slack', channel: CHANNEL };
  const provider = await startModelProvider({ models: options.models });
  const service = options.service ?? (await startMonitoringService({ limit: false }));
  onTestFinished(() => Promise.all([provider.close(), service.close()]).then(() => {}));
  const folder = (await folderFor?.(place)) ?? (await temporaryFolder());
  const settings = {
    ...(alerts ? { ...WATCHING, alertPlaces: [place] } : RESTING),
    ...options.settings,
  };

  async function start() {
    const { slack, lines } = await makeSlack({ fake, drainMs: 40_000 });
    const bot = await startTestBot({ ...botOptions, settings, provider, service, folder });
    await slack.start(bot.bot);
    await bot.bot.start([slack]);
    return { slack, lines, bot };
  }
  let running = await start();

  const seenOf = (message: Message | Ephemeral, isPrivate: boolean): SeenMessage => ({
    id: message.ts,
    thread: message.thread_ts,
    isPrivate,
    isOurs: isPrivate || ('bot_id' in message && message.bot_id !== undefined),
    text: shownText(message),
    buttons: labelsOf(message),
    files: ('files' in message ? (message.files ?? []) : []).map(({ name = '', text = '' }) => ({
      name,
      text,
    })),
    notified: 'called' in message ? (message.called ?? []) : [],
  });
  const { messages, ephemerals } = fake.channel(CHANNEL);
  return {
    place,
    provider,
    service,
    people: ['ada', 'grace'],
    get bot() {
      return running.bot.bot;
    },
    get lines() {
      return running.lines;
    },
    setManager: (by, isManager) => void fake.profiles.set(USERS[by], { is_admin: isManager }),
    command(name, values = {}, by = 0) {
      const [first, ...words] = name.split(' ');
      const text = [...words, lineOf(values)].join(' ').trim();
      void fake.slash(`/${first}`, text, { user: USERS[by] });
    },
    say(text, { thread, by = 0, toBot = false, files } = {}) {
      return fake[toBot ? 'mention' : 'say'](text, {
        user: USERS[by],
        threadTs: thread,
        files: files?.map(({ mediaType, ...file }) => ({ ...file, mimetype: mediaType })),
      });
    },
    messages: () => [
      ...messages.map((message) => seenOf(message, false)),
      ...ephemerals.map((message) => seenOf(message, true)),
    ],
    press: (ts, label, by = 0) => void fake.press(label, { ts, user: USERS[by] }),
    chooseToAskAbout: (ts) => void fake.chooseFor(ts, ASK_ABOUT.id),
    form() {
      const form = fake.form();
      if (!form) return undefined;
      const inputs = form.view.blocks.filter(({ type }) => type === 'input');
      return {
        title: form.view.title.text,
        inputs: Object.fromEntries(
          inputs.map(({ block_id }) => [block_id, form.values.get(block_id) ?? '']),
        ),
      };
    },
    submit: (values = {}) => void fake.submit(values),
    repeat: () => void fake.redeliver(),
    async restart() {
      await running.bot.bot.stop();
      await running.slack.stop();
      await running.bot.stop();
      running = await start();
    },
    stop: () => running.slack.stop(),
  };
}
