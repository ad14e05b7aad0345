import type { Logger } from 'pino';
import type { GatewayClient } from '../../clients/gateway.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Store } from '../../store/store.ts';
import type { Budgets } from '../ask/budgets.ts';
import type { ModelCatalog } from '../ask/catalog.ts';
import type { ChannelDefaults } from '../ask/channel-defaults.ts';
import type { Conversations, Question } from '../ask/conversations.ts';
import type { AnswerCall } from '../ask/private-answers.ts';
import type { ToolCalls } from '../ask/tool-calls.ts';
import type { Channels } from '../channels/channels.ts';
import type { ThreadIncident } from '../incidents/incident-service.ts';
import type { Incident, Silence, WatchState } from '../incidents/watch-state.ts';
import type { CardAction, CardPart } from '../shared/card.ts';
import type { Clock } from '../shared/clock.ts';
import type { WantedDocument } from '../shared/invocation.ts';
import type { GonePlaces, Person, Place } from '../shared/place.ts';
import type { BotSettings } from '../shared/settings.ts';
import type { ToolOffer, WritingTool } from '../tools/tool.ts';
import type { UsageLog } from '../usage/usage-log.ts';

/** The bot's core, on which features build. */
export interface BotCore {
  store: Store;
  gateway: GatewayClient;
  monitoring: MonitoringClient;
  settings: BotSettings;
  state: WatchState;
  channels: Channels;
  channelDefaults: ChannelDefaults;
  catalog: ModelCatalog;
  budgets: Budgets;
  usageLog: UsageLog;
  conversations: Conversations;
  clock: Clock;
  random: () => number;
  /** To be called after a feature has stored something that channels get. */
  onChange: () => void;
  log: Logger;
}

/** A thread with the key of its place. */
export interface ThreadAt {
  place: string;
  thread: string;
}

/** Parts of the bot that need all its features. */
export interface BotParts {
  /** Tools for work that nobody asked for: they only read. */
  toolsByItself(about: {
    place: Place;
    thread: string;
    /** Id of the answer. */
    id: string;
    person: Person;
  }): Promise<ToolCalls>;
  /** Further buttons under a whole answer. */
  buttonsUnder(answer: string, shown: { isPrivate: boolean }): CardAction[];
  /** Stores the tool calls of an answer, before the answer itself. */
  keepCalls(at: ThreadAt, answer: string, calls: readonly AnswerCall[]): Promise<void>;
}

/** A feature of a running bot. Everything is optional: a feature has the members that it needs. */
export interface OpenFeature {
  /** For its own commands, see `serviceOf`. */
  service?: unknown;
  start?(bot: BotParts): void;
  /** Ends its work, while answers end, too. */
  stop?(): Promise<unknown>;
  /** Ends its connections, after all answers have ended. */
  close?(): Promise<unknown>;
  /** Called daily, to delete expired data. */
  forgetOld?(): Promise<unknown>;
  forgetPlaces?(gone: GonePlaces): Promise<unknown>;
  forgetThread?(at: ThreadAt): Promise<unknown>;
  /** Keys of the places for which it keeps data. */
  places?(): Promise<string[]>;
  /** Called after people changed alerts. */
  onAlertsChange?(): void;
  /** The silence that a snooze of this incident needs elsewhere. */
  silenceFor?(incident: Incident): Silence | undefined;
  /** Buttons under a whole answer. */
  buttonsUnder?(answer: string, shown: { isPrivate: boolean }): CardAction[];
  /** Stores the tool calls of an answer, before the answer itself. */
  keepCalls?(at: ThreadAt, answer: string, calls: readonly AnswerCall[]): Promise<void>;
  /** The document that a question about an incident asks for. */
  documentFor?(question: Question, at: ThreadAt, found: ThreadIncident): WantedDocument | undefined;
  /** Facts about an incident in Markdown, for answers without a model. */
  factsAbout?(found: ThreadIncident, place: Place, signal: AbortSignal): Promise<string>;
  /** Further tools for a question in a place. `byItself` for work that nobody asked for: only tools that read and are allowed for it. */
  toolsIn?(place: Place, options?: { byItself?: boolean }): Promise<ToolOffer>;
  /** A tool of its own that changes something. */
  writingTool?(name: string): WritingTool | undefined;
  /** Parts of the usage card. */
  usageParts?(place: string, fromMs: number): Promise<CardPart[]>;
}

/** The features of a running bot. */
export class OpenFeatures {
  readonly all: readonly OpenFeature[];
  private readonly byName: ReadonlyMap<string, OpenFeature>;

  constructor(byName: ReadonlyMap<string, OpenFeature>) {
    this.byName = byName;
    this.all = [...byName.values()];
  }

  /** The first answer that a feature gives. */
  first<T>(ask: (feature: OpenFeature) => T | undefined): T | undefined {
    for (const feature of this.all) {
      const answer = ask(feature);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  service(name: string): unknown {
    return this.byName.get(name)?.service;
  }
}

/** Declares how the commands of a feature get its `service`. */
export const serviceOf =
  <Service>(name: string) =>
  ({ features }: { features: OpenFeatures }) =>
    features.service(name) as Service;
