import type { ShownAnswers } from './ask/shown-answers.ts';
import type { Command } from './commands/command.ts';
import type { Dispatch, FormOfPress, OpenForm } from './commands/dispatch.ts';
import type { OpenFeatures } from './commands/open-features.ts';
import type { Suggest } from './commands/suggest.ts';
import type { Homes } from './home/home.ts';
import type { Incidents } from './incidents/incident-service.ts';
import type { AnswerEnder } from './shared/invocation.ts';
import type { Messenger } from './shared/messenger.ts';
import type { Around, ReadLimits, ReadMessages } from './shared/people-messages.ts';
import type { GoneChannels, Place } from './shared/place.ts';
import type { SharedFile } from './shared/shared-file.ts';

/** The bot as its platforms use it. */
export interface Bot {
  readonly commands: readonly Command[];
  /** The commands that have a form, including the ones that only buttons start. */
  readonly forms: readonly Command[];
  /** The form that a press of a button opens. Call it before `dispatch`. Never throws. */
  readonly formOfPress: FormOfPress;
  /** Checks rights, refuses repeats and runs the command. Never throws: every error becomes a card. */
  readonly dispatch: Dispatch;
  /** The first content of a command's form for a person, or a card with the reason why they get none. Never throws. */
  readonly openForm: OpenForm;
  /** People's home pages, on platforms that have them. */
  homes: Homes;
  /** Ids of the answers under way in a thread. */
  answersIn(place: Place, thread: string): Promise<string[]>;
  /** True for a thread of the bot, in which a plain message is a question. False for one that people began. */
  isConversation(place: Place, thread: string): Promise<boolean>;
  /** Deletes the data of a deleted thread, or of the channel if no thread is given. */
  forget(place: Place, thread?: string): Promise<void>;
  /** Deletes the data of channels in a workspace or server that Askwatch left. After a kill, the next start continues. */
  forgetAll(gone: GoneChannels): Promise<void>;
  /** Channels with data, for platforms that can find out which of them are gone. */
  keptChannels(platform: string): Promise<string[]>;
  /** The address of a webhook that a channel registered. `undefined` if it was removed. */
  webhookAddress(channel: string): Promise<string | undefined>;
  /** Sends the alerts that wait for closed channels which may be open again. */
  retryClosed(platform: string, mayBeOpen: (channel: string) => boolean): Promise<void>;
  /** Conversations of answers that are shown outside of a thread. */
  readonly shownAnswers: Pick<ShownAnswers, 'of' | 'add'>;
  /** Suggestions while a person types into an input. */
  readonly suggest: Suggest;
  /**
   * Cuts the answers that a platform shows, with a note, because the platform is created again. Call the returned function once
   * the new one runs: it ends the answers whose end the old one could not show.
   */
  interrupt(platform: string): () => void;
}

/** The bot as the composition root uses it. */
export interface OpenBot extends Bot {
  /** Incidents that channels were alerted about, for `/mcp`. */
  readonly incidents: Pick<Incidents, 'openOf' | 'mark'>;
  /** For routes of features. */
  readonly features: OpenFeatures;
  /** Starts watching and sending alerts through these platforms, which have started already. */
  start(platforms: readonly Platform[]): Promise<void>;
  /** Ends answers under way, with a note if they take too long, and stops watching and sending. Takes at most 4 s. */
  stop(): Promise<void>;
}

/** A chat platform, as the bot sees it. */
export interface Platform extends Messenger, AnswerEnder {
  /**
   * Connects and passes everything that people ask to `bot.dispatch`. Resolves once it can receive and post.
   * Throws `PlatformStartError` when the platform refuses for good.
   */
  start(bot: Bot): Promise<void>;
  /** Accepts nothing new, because another process does. Work under way continues until `stop`. */
  pause?(): Promise<void>;
  /** Accepts nothing new, waits until answers under way are shown, and disconnects. */
  stop(): Promise<void>;
  /** After the start, a sentence about something that a person must still do on the platform. */
  hint?(): string | undefined;
  /** A channel's name if it is known without a request. */
  channelName?(channel: string): string | undefined;
  /**
   * Reads the messages around a question: of its thread, before it, or the chain of messages that it replies to. Throws a
   * `DeliveryError` that names the missing scope, permission or setting and what to do; if some messages were read, that is
   * their `problem`. Resolves to `undefined` if nothing can be read.
   */
  readAround?(
    channel: string,
    around: Around,
    limits: ReadLimits,
  ): Promise<ReadMessages | undefined>;
  /**
   * Streams a file from a channel, from the platform's own servers only; the reader may stop at any time. Throws a `FileError`
   * with the reason and what to do, or the signal's reason. Returns `undefined` if the platform's files can't be read.
   */
  readFile?(
    file: SharedFile,
    where: { channel: string; signal: AbortSignal },
  ): AsyncIterable<Uint8Array> | undefined;
}

export { orAborted, orLate } from '../contracts/or-aborted.ts';
export type { Claims } from '../store/claims.ts';
/** For the state that a platform keeps for itself. */
export { createEncryption, type Encryption } from '../store/encryption.ts';
export type { Collection, Following, Lease, Store } from '../store/store.ts';
