import type { Logger } from 'pino';
import { commands } from '../../bot/commands/commands.ts';
import type { Bot, Platform, Store } from '../../bot/platform.ts';
import { HttpError } from '../../http/errors.ts';
import type { Interaction, Outcome, Snapshot, Someone } from '../shared/api-types.ts';
import { createAnswers } from './answers.ts';
import { channelsCollection, openChannels } from './channels.ts';
import { listedCommand, shownSuggestions } from './commands.ts';
import { createEventStreams } from './event-streams.ts';
import { createFiles, filesCollection, piecesCollection } from './files.ts';
import { historyCollection, openHistory } from './history.ts';
import { createMessageIntake } from './message-intake.ts';
import { openPeople, peopleCollection } from './people.ts';
import { createPosting } from './posting.ts';
import { createPrivateMessages } from './private-messages.ts';
import type { Playground } from './routes.ts';

/** Between two removals of old files. */
const FILES_EVERY_MS = 15 * 60_000;

/** Time limit for answers under way when `stop` is called; then they are cut. */
const ANSWER_GRACE_MS = 3_000;

/** Dependencies of a playground. */
export interface PlaygroundProgram {
  store: Pick<Store, 'collection'>;
  /** True while this process holds the bot. */
  isHeld(): boolean;
  log: Logger;
}

/**
 * Opens the playground, a chat platform, for as long as this process holds the bot. It reads the stored messages once, as no
 * other process changes them during that time.
 */
export async function openPlayground(
  { store, isHeld, log }: PlaygroundProgram,
  { named }: { named: readonly string[] },
) {
  const streams = createEventStreams({ isHeld });
  const privates = createPrivateMessages(streams);
  const files = createFiles(store.collection(filesCollection), store.collection(piecesCollection));
  const channels = await openChannels(store.collection(channelsCollection), { named, streams });
  const people = await openPeople(store.collection(peopleCollection), { streams, log });
  const history = await openHistory(store.collection(historyCollection), {
    streams,
    onRemoved: files.removeWith,
    log,
  });
  const answers = createAnswers({ history, privates, streams, log });
  const { has: hasChannel } = channels;
  const intake = createMessageIntake({ hasChannel, history, privates, answers, files, log });
  let bot: Bot | undefined;
  let isStopped = false;

  function requireBot(): Bot {
    if (!bot || isStopped || !isHeld()) throw notOpen();
    return bot;
  }

  const removeOldFiles = () =>
    files
      .removeOld(Date.now())
      .catch((error: unknown) =>
        log.error({ err: error }, 'could not remove old files; trying again in 15 minutes'),
      );
  await removeOldFiles();
  const fileTimer = setInterval(removeOldFiles, FILES_EVERY_MS).unref();

  function snapshotFor(id: string): Snapshot {
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

  async function accept(interaction: Interaction, by: Someone): Promise<Outcome> {
    const [outcome] = await Promise.allSettled([intake.accept(requireBot(), interaction, by)]);
    // The reply was not shown, so the page has to send the interaction again.
    if (!isHeld()) throw notOpen();
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }

  const playground: Playground = {
    ...{ streams, people, channels, history, privates, answers, files, snapshotFor, accept },
    suggest: async (input, typed) => shownSuggestions(await requireBot().suggest(input, typed)),
  };

  const platform: Platform = {
    name: 'console',
    channelName: (channel) => (channels.has(channel) ? channel : undefined),
    async start(started) {
      bot = started;
    },
    async stop() {
      isStopped = true;
      clearInterval(fileTimer);
      await intake.settle();
      await answers.finish(isHeld() ? ANSWER_GRACE_MS : 0);
      streams.close();
      history.close();
    },
    readFile: (file, { channel }) => files.read(file, channel),
    ...createPosting({ history, channels, people, privates }),
  };

  return {
    platform,
    /** Throws a 503 `not_open` before it is started, and once it has stopped or the bot is held no more. */
    require(): Playground {
      requireBot();
      return playground;
    },
    /** The names of its channels until it has stopped. */
    channelNames: () => (isStopped ? undefined : channels.list()),
    closeStreams: streams.close,
  };
}

const listedCommands = commands.map(listedCommand);

/** The page sends again by itself what is refused with it. */
export const notOpen = () =>
  new HttpError(503, 'not_open', 'Askwatch is starting or stopping. Try again.', {
    headers: { 'retry-after': '1' },
  });
