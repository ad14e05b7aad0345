import { type AlertmanagerClient, createAlertmanagerClient } from '../../clients/alertmanager.ts';
import type { Incident } from '../incidents/watch-state.ts';
import type { Intake, Intakes } from './intakes.ts';

/** An address without what stands before its host and without a slash at its end, as it may be shown. Pure. */
export function bareUrl(text: string): string {
  if (!URL.canParse(text)) return '';
  const url = new URL(text);
  url.username = '';
  url.password = '';
  return url.href.replace(/\/+$/, '');
}

/**
 * Where silences for alerts of an intake are made, with its credentials: the address that it names, as far as the operator
 * names it, too; else the operator's first, for what comes from an Alertmanager. `undefined` where none are. Pure.
 */
export function alertmanagerOf(
  { kind, alertmanagerUrl }: Pick<Intake, 'kind' | 'alertmanagerUrl'>,
  urls: readonly string[] = [],
): string | undefined {
  if (alertmanagerUrl === undefined) return kind === 'alertmanager' ? urls[0] : undefined;
  const wanted = bareUrl(alertmanagerUrl);
  return urls.find((url) => bareUrl(url) === wanted);
}

/** Connections to the Alertmanagers that the operator names, each opened when something is asked of it first. */
export function openAlertmanagers({
  intakes,
  urls,
}: {
  intakes: Pick<Intakes, 'get'>;
  urls: readonly string[] | undefined;
}) {
  const clients = new Map<string, AlertmanagerClient>();
  /** Where silences for an incident are made. */
  function urlFor({ intake: id }: Pick<Incident, 'intake'>): string | undefined {
    const intake = id === undefined ? undefined : intakes.get(id);
    return intake && alertmanagerOf(intake, urls);
  }
  return {
    urlFor,
    clientFor(incident: Pick<Incident, 'intake'>): AlertmanagerClient | undefined {
      const url = urlFor(incident);
      if (url === undefined) return undefined;
      const client = clients.get(url) ?? createAlertmanagerClient(url);
      clients.set(url, client);
      return client;
    },
    /** Ends what is under way. */
    async close() {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}
