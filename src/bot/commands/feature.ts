import type { Store } from '../../store/store.ts';
import type { BotSettings } from '../shared/settings.ts';
import type { Command } from './command.ts';
import { type BotCore, type OpenFeature, OpenFeatures } from './open-features.ts';

/**
 * A part of the bot in a folder of its own, listed in `features.ts`. Without its line and its folder the rest still compiles:
 * the core knows features only through the members of `OpenFeature`.
 */
export interface Feature<Shared = unknown> {
  readonly name: string;
  readonly commands?: readonly Command[];
  /** Name of the command after which help shows its commands; last if absent. */
  readonly after?: string;
  /** Commands of its buttons. */
  readonly actions?: readonly Command[];
  /** Opens the part that a process has once, with or without the bot. */
  openShared?(program: { store: Store; settings: BotSettings }): Shared | Promise<Shared>;
  /** Opens its part of a bot. */
  open(core: BotCore, shared: Shared): OpenFeature;
}

/** Parts of features that the process has opened already, by the feature's name. */
export type SharedParts = ReadonlyMap<string, unknown>;

export async function openFeatures(
  features: readonly Feature[],
  core: BotCore,
  shared: SharedParts,
): Promise<OpenFeatures> {
  const byName = new Map<string, OpenFeature>();
  for (const feature of features) {
    const part = shared.get(feature.name) ?? (await feature.openShared?.(core));
    byName.set(feature.name, feature.open(core, part));
  }
  return new OpenFeatures(byName);
}

/** All commands in the order of help. */
export function withFeatures(
  core: readonly Command[],
  features: readonly Feature[],
): readonly Command[] {
  const commands = [...core];
  for (const { commands: own = [], after } of features) {
    const at = commands.findIndex(({ name }) => name === after);
    commands.splice(at < 0 ? commands.length : at + 1, 0, ...own);
  }
  return commands;
}
