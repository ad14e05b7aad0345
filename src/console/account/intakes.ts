import { INTAKE_TITLES, type Intake, type Intakes } from '../../bot/intake/intakes.ts';
import { INTAKE_KINDS } from '../../bot/intake/reported-alert.ts';
import { setupSteps } from '../../bot/intake/setup-lines.ts';
import { CommandError } from '../../bot/shared/errors.ts';
import { type Place, parsePlace, placeKey } from '../../bot/shared/place.ts';
import { HttpError, invalidValue, notFound } from '../../http/errors.ts';
import type {
  CreatedIntake,
  IntakeList,
  ListedIntake,
  ListedPlace,
  NewIntake,
} from './api-types.ts';

/** More places and intakes are managed in their channels. */
const MAX_PLACES = 500;
const MAX_LISTED = 500;
const MAX_NAME = 200;

const CREATED_BY = 'the account area';

/** Names of platforms and channels. */
export interface PlaceNames {
  alertedPlaces(): Promise<Place[]>;
  /** The platform's name as people write it. */
  platformTitle(name: string): string;
  /** The channel's name on its platform, if it is known. */
  channelName(place: Place): string | undefined;
}

/** Manages the intakes of all channels. Everything throws `HttpError`. */
export function createAccountIntakes(
  intakes: Intakes,
  {
    names,
    consoleChannels,
  }: { names: PlaceNames; consoleChannels: () => Promise<readonly string[]> },
) {
  /** Channels for a new intake: the console's, the ones that receive alerts, and the ones with an intake. */
  async function places(): Promise<Place[]> {
    const own = (await consoleChannels()).map((channel) => ({ platform: 'console', channel }));
    const all = [
      ...own,
      ...(await names.alertedPlaces()),
      ...intakes.all().map((one) => one.place),
    ];
    return [...new Map(all.map((place) => [placeKey(place), place])).values()].slice(0, MAX_PLACES);
  }

  function listedPlace(place: Place): ListedPlace {
    const name = names.channelName(place);
    return {
      key: placeKey(place),
      platformTitle: names.platformTitle(place.platform),
      channel: place.channel,
      name: name?.slice(0, MAX_NAME),
    };
  }

  const listed = ({
    id,
    kind,
    name,
    place,
    createdAtMs,
    by,
    lastHeardAtMs,
  }: Intake): ListedIntake => ({
    id,
    kind,
    kindTitle: INTAKE_TITLES[kind],
    name,
    place: listedPlace(place),
    createdAtMs,
    by,
    lastHeardAtMs,
  });

  return {
    async list(): Promise<IntakeList> {
      // In a list of senders, the usual title would say little.
      const titles = { ...INTAKE_TITLES, generic: 'Anything else, with a template' };
      const all = intakes.all().sort((a, b) => b.createdAtMs - a.createdAtMs);
      return {
        kinds: INTAKE_KINDS.map((kind) => ({ kind, title: titles[kind] })),
        places: (await places()).map(listedPlace),
        intakes: all.slice(0, MAX_LISTED).map(listed),
        more: Math.max(0, all.length - MAX_LISTED),
      };
    },
    /** Creates an intake. The sender reaches the program at `baseUrl`. */
    async add({ kind, place: key, name }: NewIntake, baseUrl: string): Promise<CreatedIntake> {
      const place = parsePlace(key);
      const known = await places();
      if (!place || !known.some((one) => placeKey(one) === placeKey(place))) {
        throw invalidValue('place', 'it must be one of the listed channels');
      }
      const { intake, token } = await intakes
        .add(place, { kind, name, by: CREATED_BY })
        .catch(refused);
      return { made: listed(intake), steps: setupSteps(kind, { baseUrl, token }) };
    },
    async remove(id: string): Promise<void> {
      const intake = intakes.get(id);
      const removed = intake && (await intakes.remove(intake.place, id));
      if (!removed) throw notFound('This intake has already been removed.');
    },
  };
}

function refused(error: unknown): never {
  if (!(error instanceof CommandError)) throw error;
  throw new HttpError(400, 'invalid_value', error.message, { cause: error });
}
