import type { PlatformTraits } from '../bot/shared/platform-traits.ts';
import type { ValuesOf, VariableTable } from './variable-types.ts';

/** The settings of a chat platform. `Configured` is what the program gets for a configured platform. */
export interface PlatformSettings<
  Configured = unknown,
  Variables extends VariableTable = VariableTable,
> extends PlatformTraits {
  /** The platform's name for people. */
  readonly title: string;
  /** A channel as in `ALERT_CHANNELS`; a group or person as in `WHO_MAY_ADD`, if the platform has any. */
  readonly examples: { readonly channel: string; readonly person?: string };
  /**
   * Turns a channel of `ALERT_CHANNELS` that is a secret into the id that places have, or returns `undefined` if it is
   * malformed. `problems` and `configure` get the secret.
   */
  channelId?(text: string): string | undefined;
  /** Settings in the order of docs/settings.md; the first one switches the platform on. */
  readonly variables: Variables;
  /** Rules between settings. */
  problems(values: ValuesOf<Variables>, named: NamedPlaces): SettingsRule[];
  /** Returns the configured platform; `undefined` if it isn't configured or needs no configuration. */
  configure(values: ValuesOf<Variables>, named: NamedPlaces): Configured | undefined;
}

/** A rule between settings, and the error if it is broken. */
export type SettingsRule = [isBroken: boolean, problem: string];

/** Ids of the platform's channels and people that other settings mention. */
export interface NamedPlaces {
  /** Channels that receive every alert. */
  channels: readonly string[];
  /** People and groups with rights. */
  people: readonly string[];
}
