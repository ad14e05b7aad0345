import type { ShownAnswers } from './ask/shown-answers.ts';
import type { Command } from './commands/command.ts';
import type { Dispatch, FormOfPress, OpenForm } from './commands/dispatch.ts';
import type { Suggest } from './commands/suggest.ts';
import type { Homes } from './home/home.ts';
import type { Incidents } from './incidents/incident-service.ts';
import type { AlertIntake } from './intake/intake.ts';
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
  /** The form that a press of a button opens besides what it does, to be asked for before that. Never throws. */
  readonly formOfPress: FormOfPress;
  /** The one door: checks, refuses repeats, runs the command. Never throws; every error becomes a card. */
  readonly dispatch: Dispatch;
  /** How the form of a command begins for somebody; a card says why they get none. Never throws. */
  readonly openForm: OpenForm;
  /** What each person sees of it all, where the platform has a page for that. */
  homes: Homes;
  /** The answers under way in a thread, by their ids. */
  answersIn(place: Place, thread: string): Promise<string[]>;
  /** Whether a thread is one of ours, so that a plain message in it is a question; one that people began is none. */
  isConversation(place: Place, thread: string): Promise<boolean>;
  /** For platforms: a thread was deleted, or without one the channel, and all that was kept for it goes. */
  forget(place: Place, thread?: string): Promise<void>;
  /**
   * For platforms: Askwatch is no longer in a workspace or server, and all that was kept for its channels goes. What a kill
   * interrupts of it is done at the next start.
   */
  forgetAll(gone: GoneChannels): Promise<void>;
  /** For platforms that may find out that some are gone: the channels for which something is kept. */
  keptChannels(platform: string): Promise<string[]>;
  /** For platforms: channels may take messages again, and what waits for those that were closed to alerts is sent. */
  retryClosed(platform: string, mayBeOpen: (channel: string) => boolean): Promise<void>;
  /** For platforms: the conversations of answers that are shown outside of a thread. */
  readonly shownAnswers: Pick<ShownAnswers, 'of' | 'add'>;
  /** What to offer somebody who types into an input. */
  readonly suggest: Suggest;
  /**
   * For whoever makes a platform anew: cuts the answers that it shows with a note. What it returns is to be called once the
   * new one runs, which then ends those whose end the old one could not show.
   */
  interrupt(platform: string): () => void;
}

/** The bot as the composition root uses it. */
export interface OpenBot extends Bot {
  /** The incidents that channels were alerted about, for `/mcp`. */
  readonly incidents: Pick<Incidents, 'openOf' | 'mark'>;
  /** Takes what other systems send. */
  readonly intake: AlertIntake;
  /** Starts watching and sending alerts through these platforms, which are started. */
  start(platforms: readonly Platform[]): Promise<void>;
  /** Lets answers under way end or cuts them with a note, and stops watching and sending; takes at most 4 s. */
  stop(): Promise<void>;
}

/** A chat platform, as the bot sees it. */
export interface Platform extends Messenger, AnswerEnder {
  /**
   * Connects and hands everything people say to `bot.dispatch`. Resolves once it can receive and post.
   * Throws `PlatformStartError` when the platform refuses for good.
   */
  start(bot: Bot): Promise<void>;
  /** Takes nothing new from now on: the next holder does. What is under way goes on until `stop`. */
  pause?(): Promise<void>;
  /** Takes nothing new, waits for answers under way to be shown, and disconnects. */
  stop(): Promise<void>;
  /** After the start: how it stands there, when somebody has to do something before it can be of use. */
  hint?(): string | undefined;
  /** What people there call a channel, without asking anybody; absent or `undefined` where that is not known. */
  channelName?(channel: string): string | undefined;
  /**
   * What people wrote around a question in a channel: in its thread, before it, or in the middle of a channel the message that
   * it replies to, with those that this replies to. What the bot is not let read is a `DeliveryError` that says which scope,
   * permission or setting is missing and what to do; where some came, it is the `problem` beside it. Absent, or `undefined`,
   * where nothing can be read.
   */
  readAround?(
    channel: string,
    around: Around,
    limits: ReadLimits,
  ): Promise<ReadMessages | undefined>;
  /**
   * Streams a file that somebody sent in a channel, from the platform itself and nowhere else; the reader may stop at any
   * time. Throws a `FileError` that says why it cannot be read and what to do, or the signal's reason. Absent, or `undefined`,
   * if no files can be read.
   */
  readFile?(
    file: SharedFile,
    where: { channel: string; signal: AbortSignal },
  ): AsyncIterable<Uint8Array> | undefined;
}

export { orAborted, orLate } from '../contracts/or-aborted.ts';
export type { Claims } from '../store/claims.ts';
/** State a platform keeps for itself, handed to it by the composition root. */
export { createEncryption, type Encryption } from '../store/encryption.ts';
export type { Collection, Following, Lease, Store } from '../store/store.ts';
