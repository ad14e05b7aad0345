import { type AlertmanagerClient, createAlertmanagerClient } from '../../clients/alertmanager.ts';
import type { Incident } from '../incidents/watch-state.ts';
import type { Intake, Intakes } from './intakes.ts';

/** An address as it may be shown, without credentials and trailing slashes. Pure. */
export function bareUrl(text: string): string {
  if (!URL.canParse(text)) return '';
  const url = new URL(text);
  url.username = '';
  url.password = '';
  return url.href.replace(/\/+$/, '');
}

/**
 * The Alertmanager for an intake's silences, with credentials. An address of the intake counts only if the operator
 * lists it too. Otherwise Alertmanager intakes use the operator's first. Pure.
 */
export function alertmanagerOf(
  { kind, alertmanagerUrl }: Pick<Intake, 'kind' | 'alertmanagerUrl'>,
  urls: readonly string[] = [],
): string | undefined {
  if (alertmanagerUrl === undefined) return kind === 'alertmanager' ? urls[0] : undefined;
  const wanted = bareUrl(alertmanagerUrl);
  return urls.find((url) => bareUrl(url) === wanted);
}

/** Clients of the operator's Alertmanagers, each created on first use. */
export function openAlertmanagers({
  intakes,
  urls,
}: {
  intakes: Pick<Intakes, 'get'>;
  urls: readonly string[] | undefined;
}) {
  const clients = new Map<string, AlertmanagerClient>();
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
    async close() {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}
