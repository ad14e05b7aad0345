import type { Logger } from 'pino';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Catalog } from '../ask/catalog.ts';
import type { ChannelDefaults } from '../ask/channel-defaults.ts';
import type { Channels } from '../channels/channels.ts';
import type { PersonPlaces } from '../channels/person-places.ts';
import { modelCommand, promptCommand } from '../commands/askwatch-channel.ts';
import type { Command, FormBegin } from '../commands/command.ts';
import type { OpenForm } from '../commands/dispatch.ts';
import { failedCard } from '../commands/error-card.ts';
import type { Alert } from '../incidents/watch-state.ts';
import {
  type Card,
  type CardAction,
  type CardPart,
  factsPart,
  isCarried,
  textCard,
  textPart,
} from '../shared/card.ts';
import { type Person, type Place, parsePlace, placeKey } from '../shared/place.ts';
import { hasRight } from '../shared/rights.ts';
import type { BotSettings } from '../shared/settings.ts';
import { shortened } from '../shared/text-format.ts';
import { createMonitorsNow, nowCard, unseenCard } from './home-now.ts';

/** What a person's home shows. */
export interface Home {
  /** What is down now. */
  now: Card;
  /** How to begin, for those who have nothing yet. */
  help?: Card;
  /** The channels where this person spoke to Askwatch, the last first. */
  channels: HomeChannel[];
  /** Those that are left out. */
  more: number;
}

/** A channel as a home shows it, with what this person may change there. */
export interface HomeChannel {
  place: Place;
  parts: CardPart[];
  actions: CardAction[];
}

/** Whose home it is. */
export interface HomeOwner {
  platform: string;
  id: string;
  /** The person as they stand in one of their places; undefined for one that this home does not show. */
  at(place: Place): Promise<Person | undefined>;
}

/** A form that a home opens, or what is said in its place. */
export type HomeForm = { command: Command; place: Place; begin: FormBegin } | { card: Card };

/** What people see and change in their homes. */
export type Homes = ReturnType<typeof createHomes>;

/** What a button of a home does. */
export const HOME_FORM = 'home form';

const MAX_CHANNELS = 15;
/** Of the alerts that a channel hears, and of its prompt. */
const MAX_TEXT = 500;

const FORMS = [
  { label: 'Change model', command: modelCommand },
  { label: 'Change prompt', command: promptCommand },
];

const HELP: Card = {
  tone: 'info',
  title: 'How to begin',
  parts: [
    textPart('Ask in a channel, and go on in the thread of the answer:'),
    { kind: 'code', text: '/ask why is the sky blue?' },
    textPart('Add a monitor; the channel hears when it goes down:'),
    { kind: 'code', text: '/monitor add https://example.com' },
    textPart('The channels where you did either show here. /askwatch help tells more.'),
  ],
};

const UNKNOWN_PLACE = textCard(
  'warning',
  'That did not work',
  'Askwatch does not know you in that channel. Type /askwatch model or /askwatch prompt there.',
);

export function createHomes(options: {
  places: PersonPlaces;
  channels: Channels;
  channelDefaults: ChannelDefaults;
  catalog: Catalog;
  monitoring: MonitoringClient;
  settings: BotSettings;
  alerts(): readonly Alert[] | undefined;
  openForm: OpenForm;
  log: Logger;
}) {
  const { places, channels, channelDefaults, catalog, settings, log } = options;
  const monitorsNow = createMonitorsNow(options.monitoring, () => performance.now());

  async function now(): Promise<{ card: Card; isEmpty: boolean }> {
    try {
      const monitors = await monitorsNow();
      return { card: nowCard(monitors, options.alerts()), isEmpty: monitors.length === 0 };
    } catch (error) {
      const card = unseenCard(error);
      if (!card) throw error;
      log.warn({ err: error }, 'a home could not show what is down');
      return { card, isEmpty: false };
    }
  }

  /** Those of the owner's places that their home shows, with who they are there. */
  async function theirs(owner: HomeOwner) {
    const all = await places.of(owner.platform, owner.id);
    const known = await Promise.all(
      all.map(async (place) => ({ place, person: await owner.at(place) })),
    );
    return known.flatMap(({ place, person }) => (person ? [{ place, person }] : []));
  }

  /** The model that answers where nobody chose one. */
  async function standardModel(): Promise<string> {
    const chosen = await catalog.chatModel().catch(() => undefined);
    return chosen?.id ?? settings.askModel ?? 'not known now';
  }

  async function channelAt({ place, person }: { place: Place; person: Person }, standard: string) {
    const { model, prompt } = await channelDefaults.of(place);
    const always = settings.alertPlaces.some((other) => placeKey(other) === placeKey(place));
    const hears = [
      await channels.describe(place),
      ...(always ? ['It hears every alert because ALERT_CHANNELS names it.'] : []),
    ];
    const part = factsPart(
      { label: 'Alerts', value: shortened(hears.join(' '), MAX_TEXT) },
      { label: 'Model', value: model ?? `${standard} (default)` },
      {
        label: 'Prompt',
        value: prompt === undefined ? 'default' : shortened(prompt, MAX_TEXT),
      },
    );
    return { place, parts: [part], actions: await changesFor(person, place) };
  }

  /** The buttons of a channel for somebody; where its name is too long for a button, typing is the way. */
  async function changesFor(person: Person, place: Place): Promise<CardAction[]> {
    const asker = { person, place, settings };
    const may = await Promise.all(
      FORMS.map(
        async ({ command: { right } }) => right === 'anyone' || (await hasRight(right, asker)),
      ),
    );
    return FORMS.filter((_form, index) => may[index])
      .map(({ label, command }) => ({
        label,
        command: HOME_FORM,
        values: { form: command.name, place: placeKey(place) },
      }))
      .filter(isCarried);
  }

  async function made(owner: HomeOwner): Promise<Home> {
    const [{ card, isEmpty }, all, standard] = await Promise.all([
      now(),
      theirs(owner),
      standardModel(),
    ]);
    const shown = all.slice(0, MAX_CHANNELS);
    return {
      now: card,
      ...((isEmpty || all.length === 0) && { help: HELP }),
      channels: await Promise.all(shown.map((one) => channelAt(one, standard))),
      more: all.length - shown.length,
    };
  }

  return {
    /** Never throws. */
    async of(owner: HomeOwner): Promise<Home> {
      try {
        return await made(owner);
      } catch (error) {
        const now = failedCard('a home could not be put together', error, log);
        return { now, channels: [], more: 0 };
      }
    },
    /** The form that a press in a home asks for, by the values of its button: nothing of them is believed. Never throws. */
    async open(owner: HomeOwner, asked: Record<string, string | undefined>): Promise<HomeForm> {
      try {
        const command = FORMS.find((form) => form.command.name === asked.form)?.command;
        const wanted = parsePlace(asked.place ?? '');
        const key = wanted && placeKey(wanted);
        const found = (await theirs(owner)).find(({ place }) => placeKey(place) === key);
        if (!command || !found) return { card: UNKNOWN_PLACE };
        const opened = await options.openForm(command, found);
        return 'card' in opened ? opened : { ...opened, command, place: found.place };
      } catch (error) {
        return { card: failedCard('a form of a home could not be opened', error, log) };
      }
    },
  };
}
