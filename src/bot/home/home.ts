import type { Monitor } from '../../contracts/monitoring.ts';
import type { PersonPlaces } from '../channels/person-places.ts';
import { modelCommand, promptCommand } from '../commands/askwatch-channel.ts';
import type { Command, FormBegin } from '../commands/command.ts';
import { failedCard } from '../commands/command-cards.ts';
import type { OpenForm, Services } from '../commands/dispatch.ts';
import { listTitle, listTone } from '../commands/monitor/list.ts';
import { isOpen } from '../incidents/incidents.ts';
import type { Alert, Incident } from '../incidents/watch-state.ts';
import {
  type Card,
  type CardAction,
  type CardPart,
  codePart,
  compact,
  factsPart,
  fittingActions,
  textCard,
  textPart,
} from '../shared/card.ts';
import { explainOutage } from '../shared/explain-error.ts';
import { hasPlace, type Person, type Place, parsePlace, placeKey } from '../shared/place.ts';
import { hasRight } from '../shared/rights.ts';
import { isDown } from '../shared/status.ts';
import { shownTarget } from '../shared/target-link.ts';
import { shortened } from '../shared/text-format.ts';
import { shareList } from '../tools/monitors.ts';

/** A person's home page in Slack. */
export interface Home {
  /** The monitors that are down. */
  now: Card;
  /** For people without monitors or channels. */
  help?: Card;
  /** Channels where this person used Askwatch, newest first. */
  channels: HomeChannel[];
  /** Number of channels that are left out. */
  more: number;
}

/** A channel with the settings that this person may change. */
export interface HomeChannel {
  place: Place;
  parts: CardPart[];
  actions: CardAction[];
}

export interface HomeOwner {
  platform: string;
  id: string;
  /** The person with their rights in a place; `undefined` for a place that this home doesn't show. */
  at(place: Place): Promise<Person | undefined>;
}

/** A form that a home opens, or a card with the reason why it can't. */
export type HomeForm = { command: Command; place: Place; begin: FormBegin } | { card: Card };

export type Homes = ReturnType<typeof createHomes>;

/** Command of a home's buttons. */
export const HOME_FORM = 'home form';

const MAX_CHANNELS = 15;
/** Characters of a channel's alert settings, and of its prompt. */
const MAX_TEXT = 500;

/** Monitors that are down and shown one by one. */
const MAX_SHOWN = 20;
const REQUEST_MS = 5_000;
const SHARED_LIST_MS = 5_000;

const FORMS = [
  { label: 'Change model', command: modelCommand },
  { label: 'Change prompt', command: promptCommand },
];

const HELP: Card = {
  tone: 'info',
  title: 'Getting started',
  parts: [
    textPart('Ask a question in a channel, then follow up in the answer’s thread:'),
    codePart('/ask why is the sky blue?'),
    textPart('Add a monitor. The channel gets an alert when it goes down:'),
    codePart('/monitor add https://example.com'),
    textPart('Channels where you do either appear here. To see all commands, type /askwatch help.'),
  ],
};

const UNKNOWN_PLACE = textCard(
  'warning',
  'That did not work',
  'Askwatch hasn’t seen you in that channel. Type /askwatch model or /askwatch prompt there instead.',
);

export function createHomes(
  options: Services & {
    places: PersonPlaces;
    alerts(): readonly Alert[] | undefined;
    openForm: OpenForm;
  },
) {
  const { places, channels, channelDefaults, catalog, settings, log } = options;
  // People who open their homes at the same time see the same list.
  const monitorsNow = shareList(
    () => options.monitoring.list({ timeoutMs: REQUEST_MS }),
    SHARED_LIST_MS,
  );

  async function now(): Promise<{ card: Card; isEmpty: boolean }> {
    try {
      const monitors = await monitorsNow();
      return { card: nowCard(monitors, options.alerts()), isEmpty: monitors.length === 0 };
    } catch (error) {
      const why = explainOutage(error, 'monitoring service');
      if (why === undefined) throw error;
      log.warn({ err: error }, 'could not load the monitors for a home');
      const card = textCard('warning', 'Can’t show what is down', why);
      return { card, isEmpty: false };
    }
  }

  async function shownPlaces(owner: HomeOwner) {
    const all = await places.of(owner.platform, owner.id);
    const known = await Promise.all(
      all.map(async (place) => ({ place, person: await owner.at(place) })),
    );
    return known.flatMap(({ place, person }) => (person ? [{ place, person }] : []));
  }

  async function defaultModel(): Promise<string> {
    const chosen = await catalog.chatModel().catch(() => undefined);
    return chosen?.id ?? settings.askModel ?? 'unknown';
  }

  async function channelAt(
    { place, person }: { place: Place; person: Person },
    defaultName: string,
  ): Promise<HomeChannel> {
    const { model, prompt } = await channelDefaults.of(place);
    const always = hasPlace(settings.alertPlaces, place);
    const part = factsPart(
      { label: 'Alerts', value: shortened(await channels.describe(place, { always }), MAX_TEXT) },
      { label: 'Model', value: model ?? `${defaultName} (default)` },
      {
        label: 'Prompt',
        value: prompt === undefined ? 'default' : shortened(prompt, MAX_TEXT),
      },
    );
    return { place, parts: [part], actions: await changesFor(person, place) };
  }

  /** Buttons for the forms that this person may use; none if the channel's name is too long for a button. */
  async function changesFor(person: Person, place: Place): Promise<CardAction[]> {
    const asker = { person, place, settings };
    const actions = FORMS.map(async ({ label, command: { name, right } }) => {
      const mayChange = right === 'anyone' || (await hasRight(right, asker));
      const values = { form: name, place: placeKey(place) };
      return mayChange ? [{ label, command: HOME_FORM, values }] : [];
    });
    return fittingActions(...(await Promise.all(actions)).flat());
  }

  async function build(owner: HomeOwner): Promise<Home> {
    const [{ card, isEmpty }, all, defaultName] = await Promise.all([
      now(),
      shownPlaces(owner),
      defaultModel(),
    ]);
    const shown = all.slice(0, MAX_CHANNELS);
    return {
      now: card,
      help: isEmpty || all.length === 0 ? HELP : undefined,
      channels: await Promise.all(shown.map((one) => channelAt(one, defaultName))),
      more: all.length - shown.length,
    };
  }

  return {
    /** Never throws. */
    async of(owner: HomeOwner): Promise<Home> {
      try {
        return await build(owner);
      } catch (error) {
        const now = failedCard('could not build a home', error, log);
        return { now, channels: [], more: 0 };
      }
    },
    /** Opens the form of a button. Its values come from outside and are checked. Never throws. */
    async open(owner: HomeOwner, values: Record<string, string | undefined>): Promise<HomeForm> {
      try {
        const command = FORMS.find((form) => form.command.name === values.form)?.command;
        const wanted = parsePlace(values.place ?? '');
        const key = wanted && placeKey(wanted);
        const found = (await shownPlaces(owner)).find(({ place }) => placeKey(place) === key);
        if (!command || !found) return { card: UNKNOWN_PLACE };
        const opened = await options.openForm(command, found);
        return 'card' in opened ? opened : { ...opened, command, place: found.place };
      } catch (error) {
        return { card: failedCard('could not open a form from a home', error, log) };
      }
    },
  };
}

/** The monitors that are down, newest outage first. `alerts` fill in what the service doesn't know. Pure. */
export function nowCard(monitors: readonly Monitor[], alerts: readonly Alert[] = []): Card {
  if (monitors.length === 0) return { tone: 'info', title: 'No monitors yet', parts: [] };
  const open = new Map(alerts.filter(isOpen).map((incident) => [incident.monitorId, incident]));
  const down = monitors
    .filter(isDown)
    .map((monitor) => outageOf(monitor, open.get(monitor.id)))
    .sort((a, b) => (b.sinceMs ?? 0) - (a.sinceMs ?? 0));
  const more = down.length - MAX_SHOWN;
  return {
    tone: listTone(monitors),
    title: listTitle(monitors),
    parts: compact<CardPart>(
      ...down.slice(0, MAX_SHOWN).map(outagePart),
      more > 0 && textPart(`${more} more ${more === 1 ? 'is' : 'are'} down: /monitor list down`),
    ),
  };
}

function outageOf(monitor: Monitor, incident: Incident | undefined) {
  const changedMs = Date.parse(monitor.status_changed_at ?? '');
  const sinceMs = Number.isNaN(changedMs) ? incident?.startedAtMs : changedMs;
  return { monitor, sinceMs, cause: monitor.status_reason ?? incident?.reason };
}

function outagePart({ monitor, sinceMs, cause }: ReturnType<typeof outageOf>): CardPart {
  const { name, target } = monitor;
  return factsPart(
    { label: shortened(name || target, 60), value: shortened(shownTarget(target), 80) },
    sinceMs !== undefined && { label: 'Down since', value: { atMs: sinceMs } },
    cause !== undefined && { label: 'Cause', value: shortened(cause, 200) },
  );
}
