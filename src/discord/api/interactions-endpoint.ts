import { type APIApplication, type REST, Routes } from 'discord.js';
import type { Logger } from 'pino';

/** With that URL, Discord sends no interaction over the gateway, and reports no error. Source: Discord docs, "Receiving and Responding". */
export const INTERACTIONS_ENDPOINT_SET =
  'Discord sends commands and button presses to the application’s Interactions Endpoint URL, so Askwatch doesn’t get them. Clear that URL at discord.com/developers/applications → your application → General Information.';

export const hasInteractionsEndpoint = ({
  interactions_endpoint_url: url,
}: APIApplication): boolean => typeof url === 'string' && url !== '';

/** Warns if the URL is set. False if Discord doesn't say, since messages work in any case. */
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
