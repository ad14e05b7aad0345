import type { Logger } from 'pino';
import type { Command } from '../../bot/commands/command.ts';
import type { Finding } from '../../bot/shared/finding.ts';
import type { PlatformLimits } from '../../bot/shared/platform-limits.ts';
import type { PlatformTraits } from '../../bot/shared/platform-traits.ts';
import type { ValuesOf, VariableTable } from '../../config/variable-types.ts';
import type { Store } from '../../store/store.ts';
import type { MadePlatform, Route } from '../platform-supervisor.ts';

/** All that the program knows of a chat platform; the table of them is `src/app/platforms.ts`. */
export interface PlatformRegistration<Variables extends VariableTable = VariableTable>
  extends PlatformTraits {
  /** As people call it. */
  readonly title: string;
  /** A channel as in `ALERT_CHANNELS`; a group or person as in `WHO_MAY_ADD`, where there are any. */
  readonly examples: { readonly channel: string; readonly person?: string };
  /** Its settings, in the order of docs/settings.md; the first is the one that is set first. */
  readonly variables: Variables;
  /** Rules between settings. */
  problems(values: ValuesOf<Variables>, named: NamedPlaces): Rule[];
  /** The platform as it is set up; undefined when it is not, or is no platform of its own accord. */
  configure(values: ValuesOf<Variables>, named: NamedPlaces): ConfiguredPlatform | undefined;
  /** Files that a platform's own pages ask for, made from the commands, by their paths. */
  manifests?(commands: readonly Command[]): Promise<Record<string, unknown>>;
}

/** A rule between settings, and what is said when it is broken. */
export type Rule = [broken: boolean, problem: string];

/** What other settings name on the platform, by the platform's own ids. */
export interface NamedPlaces {
  /** Channels that receive every alert. */
  channels: readonly string[];
  /** People and groups with rights. */
  people: readonly string[];
}

/** A platform with settings of its own. Its library is loaded only when one of these is called. */
export interface ConfiguredPlatform {
  readonly settings: object;
  /** Loads the library, which takes up to a second, so that `create` takes no time later. */
  load(): Promise<unknown>;
  create(program: PlatformProgram): Promise<MadePlatform>;
  /** What `doctor` finds; it only reads. */
  check(with_: { fetch: typeof fetch; log: Logger }): Promise<Finding[]>;
  /** The routes that it mounts on the one server, see `MadePlatform.routes`. */
  readonly routes?: ReadonlyArray<Pick<Route, 'method' | 'path'>>;
  /** What the banner adds; `url` is where others reach the program. */
  bannerNote?(url: string): string;
}

/** What a platform is made with. `create` is called again after a fault of its library. */
export interface PlatformProgram {
  store: Store;
  /** True while this process holds the bot. Call it right before each request that shows something. */
  isHeld(): boolean;
  limits: PlatformLimits;
  log: Logger;
  onFatal(error: Error): void;
}

/** Declares a platform, so that `configure` sees the types of its own settings. */
export function registration<const Variables extends VariableTable>(
  declared: PlatformRegistration<Variables>,
): PlatformRegistration<Variables> {
  return declared;
}
