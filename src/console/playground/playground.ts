import type { Logger } from 'pino';
import { commands } from '../../bot/features.ts';
import type { Bot, Platform, Store } from '../../bot/platform.ts';
import { HttpError } from '../../http/errors.ts';
import type {
  ConsoleInteraction,
  ConsolePerson,
  ConsoleSnapshot,
  InteractionOutcome,
} from '../shared/api-types.ts';
import { GrowingAnswers } from './answers.ts';
import { channelsCollection, openChannels } from './channels.ts';
import { listedCommand, shownSuggestions } from './commands.ts';
import { createEventStreams } from './event-streams.ts';
import { ConsoleFiles, filesCollection, piecesCollection } from './files.ts';
import { ChatHistory, historyCollection } from './history.ts';
import { Interactions } from './interactions.ts';
import { People, peopleCollection } from './people.ts';
import { createPosting } from './posting.ts';
import { createPrivateMessages } from './private-messages.ts';
import type { Playground } from './routes.ts';

const FILES_EVERY_MS = 15 * 60_000;

/** Answers under way may end in this time when the platform stops; then they are cut. */
const ANSWER_GRACE_MS = 3_000;

export interface PlaygroundProgram {
  store: Pick<Store, 'collection'>;
  isHeld(): boolean;
  log: Logger;
}

/**
 * Opens the playground, a chat platform, for as long as this process holds the bot. It reads the stored messages once, because no
 * other process changes them during that time.
 */
export async function openPlayground(
  { store, isHeld, log }: PlaygroundProgram,
  { named }: { named: readonly string[] },
) {
  const streams = createEventStreams({ isHeld });
  const privates = createPrivateMessages(streams);
  const files = new ConsoleFiles(
    store.collection(filesCollection),
    store.collection(piecesCollection),
  );
  const channels = await openChannels(store.collection(channelsCollection), { named, streams });
  const people = await People.open(store.collection(peopleCollection), { streams, log });
  const history = await ChatHistory.open(store.collection(historyCollection), {
    streams,
    onRemoved: (messages) => files.removeWith(messages),
    log,
  });
  const answers = new GrowingAnswers({ history, privates, streams, log });
  const { has: hasChannel } = channels;
  const interactions = new Interactions({ hasChannel, history, privates, answers, files, log });
  const fileTimer = await keepRemovingOldFiles(files, log);
  let bot: Bot | undefined;
  let isStopped = false;

  function requireBot(): Bot {
    if (!bot || isStopped || !isHeld()) throw notOpen();
    return bot;
  }

  function snapshotFor(id: string): ConsoleSnapshot {
    const { messages, older } = history.newest();
    const own = privates.listed(id).map(({ message, ...listed }) => ({
      ...listed,
      message: answers.latest(message),
    }));
    return {
      kind: 'snapshot',
      person: people.find(id) ?? { id, name: '' },
      people: people.all(),
      channels: channels.list(),
      commands: listedCommands,
      messages: [...messages, ...own].sort((a, b) => a.message.atMs - b.message.atMs),
      older,
    };
  }

  async function accept(
    interaction: ConsoleInteraction,
    by: ConsolePerson,
  ): Promise<InteractionOutcome> {
    const [result] = await Promise.allSettled([interactions.accept(requireBot(), interaction, by)]);
    // Without the bot, the streams have sent nothing, so the page has to repeat the interaction.
    if (!isHeld()) throw notOpen();
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }

  const playground: Playground = {
    streams,
    people,
    channels,
    history,
    privates,
    answers,
    files,
    snapshotFor,
    accept,
    suggest: async (input, typed) => shownSuggestions(await requireBot().suggest(input, typed)),
  };

  const platform: Platform = {
    name: 'console',
    channelName: (channel) => (channels.has(channel) ? channel : undefined),
    async start(startedBot) {
      bot = startedBot;
    },
    async stop() {
      isStopped = true;
      clearInterval(fileTimer);
      await interactions.settle();
      await answers.finish(isHeld() ? ANSWER_GRACE_MS : 0);
      streams.close();
    },
    readFile: (file, { channel }) => files.read(file, channel),
    ...createPosting({ history, channels, people, privates }),
  };

  return {
    platform,
    /** Throws a 503 `not_open` unless the platform has started and this process holds the bot. */
    require(): Playground {
      requireBot();
      return playground;
    },
    channelNames: () => (isStopped ? undefined : channels.list()),
    closeStreams: streams.close,
  };
}

const listedCommands = commands.map(listedCommand);

/** Removes old files now and every 15 minutes until the timer is cleared. */
async function keepRemovingOldFiles(files: ConsoleFiles, log: Logger): Promise<NodeJS.Timeout> {
  const removeOld = () =>
    files
      .removeOld(Date.now())
      .catch((error: unknown) =>
        log.error({ err: error }, 'could not remove old files; trying again in 15 minutes'),
      );
  await removeOld();
  return setInterval(removeOld, FILES_EVERY_MS).unref();
}

/** The page repeats a request that is refused with this error. */
export const notOpen = () =>
  new HttpError(503, 'not_open', 'Askwatch is starting or stopping. Try again.', {
    headers: { 'retry-after': '1' },
  });
