import type { Monitor } from '../../contracts/monitoring.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import { shortened } from '../shared/text-format.ts';
import { ifOffered } from './monitors.ts';

interface NewMonitorSettings {
  name: string;
  target: string;
  check_type: string;
  config: Readonly<Record<string, unknown>>;
}

/** Settings that make two monitors of one target different, with their defaults. */
const TELLING_SETTINGS = {
  target_keyword: undefined,
  json: undefined,
  record_type: 'A',
  expect: undefined,
} as const;

const MAX_COMPARED = 5;

/** A monitor that already checks the same; if the service doesn't show settings, one with the same target and type. */
export async function findTwin(
  wanted: NewMonitorSettings,
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

export function nameHints({ name }: NewMonitorSettings, monitors: readonly Monitor[]): string[] {
  const isTaken = monitors.some((one) => one.name.toLowerCase() === name.toLowerCase());
  return isTaken
    ? [`Another monitor is also called “${shortened(name, 60)}”. Give one of them another name.`]
    : [];
}

/** A host without a dot is usually a mistake. Pure. */
export function hostHints({ target, check_type }: NewMonitorSettings): string[] {
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
