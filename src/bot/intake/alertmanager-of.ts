import type { Intake } from './intakes.ts';

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
