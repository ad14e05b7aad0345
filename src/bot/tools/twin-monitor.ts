import type { Monitor } from '../../contracts/monitoring.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import { shortened } from '../shared/text-format.ts';
import { ifOffered } from './monitors.ts';

/** A monitor that somebody wants. */
interface WantedMonitor {
  name: string;
  target: string;
  check_type: string;
  config: Readonly<Record<string, unknown>>;
}

/** Settings by which monitors of one target watch different things, with their defaults. */
const TELLING_SETTINGS = {
  target_keyword: undefined,
  json: undefined,
  record_type: 'A',
  expect: undefined,
} as const;

/** Monitors of one target whose settings are compared. */
const MAX_COMPARED = 5;

/** The monitor that already watches the same; if the service shows no settings, any with the same target and type. */
export async function findTwin(
  wanted: WantedMonitor,
  monitors: readonly Monitor[],
  show: (id: string) => Promise<{ config: Readonly<Record<string, unknown>> }>,
): Promise<Monitor | undefined> {
  const alike = monitors.filter(
    ({ check_type, target }) =>
      check_type === wanted.check_type && targetKey(target) === targetKey(wanted.target),
  );
  for (const monitor of alike.slice(0, MAX_COMPARED)) {
    const shown = await ifOffered(show(monitor.id));
    if (!shown || watchesSame(shown.config, wanted.config)) return monitor;
  }
  return undefined;
}

/** Says that a monitor has this name already. Pure. */
export function nameHints({ name }: WantedMonitor, monitors: readonly Monitor[]): string[] {
  const isTaken = monitors.some((one) => one.name.toLowerCase() === name.toLowerCase());
  return isTaken
    ? [`Another monitor is also called “${shortened(name, 60)}”. Give one of them another name.`]
    : [];
}

/** Says that the host of a page has no dot, which is seldom meant. Pure. */
export function hostHints({ target, check_type }: WantedMonitor): string[] {
  if (check_type !== 'HTTP' && check_type !== 'KEYWORD') return [];
  const host = URL.canParse(target) ? new URL(target).hostname : '';
  if (host === '' || host === 'localhost' || /[.:]/.test(host)) return [];
  return [
    `“${shortened(host, 60)}” has no dot, so it only works inside your own network. Did you mean ${shortened(host, 60)}.com?`,
  ];
}

function targetKey(target: string): string {
  const text = maskedTarget(target.trim());
  if (!URL.canParse(text)) return text.toLowerCase().replace(/\.$/, '');
  const url = new URL(text);
  url.hash = '';
  return url.href.replace(/\/$/, '');
}

const watchesSame = (
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
) =>
  Object.entries(TELLING_SETTINGS).every(
    ([name, standard]) => (one[name] ?? standard) === (other[name] ?? standard),
  );
