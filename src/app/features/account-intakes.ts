import { INTAKE_TITLES, type Intake, type Intakes } from '../../bot/intake/intakes.ts';
import { setupSteps } from '../../bot/intake/setup-lines.ts';
import { CommandError } from '../../bot/shared/errors.ts';
import { type Place, parsePlace, placeKey } from '../../bot/shared/place.ts';
import type { ManageIntakes } from '../../console/account/account.ts';
import type { ListedIntake, ListedPlace } from '../../console/account/api-types.ts';
import { INTAKE_KINDS } from '../../contracts/intake-kinds.ts';
import { HttpError, invalidValue, notFound } from '../../http/errors.ts';

/** More places and intakes are managed in their channels. */
const MAX_PLACES = 500;
const MAX_LISTED = 500;
const MAX_NAME = 200;

const CREATED_BY = 'the account area';

/** The intakes of all channels, for the account area of the console. */
export const accountIntakes =
  (intakes: Intakes): ManageIntakes =>
  ({ names, consoleChannels }) => {
    /** Channels for a new intake: the console's, the ones that receive alerts, and the ones with an intake. */
    async function places(): Promise<Place[]> {
      const own = (await consoleChannels()).map((channel) => ({ platform: 'console', channel }));
      const all = [
        ...own,
        ...(await names.alertedPlaces()),
        ...intakes.all().map((one) => one.place),
      ];
      return [...new Map(all.map((place) => [placeKey(place), place])).values()].slice(
        0,
        MAX_PLACES,
      );
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
      lastDeliveryAtMs,
    }: Intake): ListedIntake => ({
      id,
      kind,
      kindTitle: INTAKE_TITLES[kind],
      name,
      place: listedPlace(place),
      createdAtMs,
      by,
      lastDeliveryAtMs,
    });

    return {
      async list() {
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
      async add({ kind, place: key, name }, baseUrl) {
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
      async remove(id) {
        const intake = intakes.get(id);
        const removed = intake && (await intakes.remove(intake.place, id));
        if (!removed) throw notFound('This intake has already been removed.');
      },
    };
  };

function refused(error: unknown): never {
  if (!(error instanceof CommandError)) throw error;
  throw new HttpError(400, 'invalid_value', error.message, { cause: error });
}
