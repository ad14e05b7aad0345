import { type APIApplication, type REST, Routes } from 'discord.js';
import type { Logger } from 'pino';

/**
 * What to do when interactions go to a web address instead of the gateway; nothing else tells of it. Source: Discord docs,
 * "Receiving and Responding": the two ways exclude each other.
 */
export const INTERACTIONS_ENDPOINT_SET =
  'Discord sends commands and button presses to the application’s Interactions Endpoint URL, so Askwatch doesn’t get them. Clear that URL at discord.com/developers/applications → your application → General Information.';

/** Whether Discord sends this application's interactions elsewhere. Pure. */
export const hasInteractionsEndpoint = ({
  interactions_endpoint_url: url,
}: APIApplication): boolean => typeof url === 'string' && url !== '';

/** Looks it up, and warns; no when Discord does not tell, as messages can be answered all the same. */
export async function warnOfInteractionsEndpoint(rest: REST, log: Logger): Promise<boolean> {
  try {
    const application = (await rest.get(Routes.currentApplication())) as APIApplication;
    const elsewhere = hasInteractionsEndpoint(application);
    if (elsewhere) log.warn(INTERACTIONS_ENDPOINT_SET);
    return elsewhere;
  } catch (error) {
    log.warn({ err: error }, 'could not find out where Discord sends commands');
    return false;
  }
}
