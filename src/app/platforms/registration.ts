import type { Logger } from 'pino';
import type { Command } from '../../bot/commands/command.ts';
import type { Finding } from '../../bot/shared/finding.ts';
import type { PlatformLimits } from '../../bot/shared/platform-limits.ts';
import type { PlatformSettings } from '../../config/platform-settings.ts';
import type { VariableTable } from '../../config/variable-types.ts';
import type { Store } from '../../store/store.ts';
import type { MadePlatform, PlatformRoute } from '../platform-supervisor.ts';

/** A chat platform as the program sees it. `src/app/platforms.ts` lists them. */
export interface PlatformRegistration<Variables extends VariableTable = VariableTable>
  extends PlatformSettings<ConfiguredPlatform, Variables> {
  /** Generates files for the platform's own pages from the commands: contents by path. */
  manifests?(commands: readonly Command[]): Promise<Record<string, unknown>>;
}

/** A platform with settings of its own. Its library is loaded only when one of these is called. */
export interface ConfiguredPlatform {
  readonly settings: object;
  /** Loads the library, which takes up to a second, so that `create` takes no time later. */
  load(): Promise<unknown>;
  create(program: PlatformProgram): Promise<MadePlatform>;
  /** Returns findings for `doctor`. It only reads. */
  check(with_: { fetch: typeof fetch; log: Logger }): Promise<Finding[]>;
  /** The routes that it mounts on the one server, see `MadePlatform.routes`. */
  readonly routes?: ReadonlyArray<Pick<PlatformRoute, 'method' | 'path'>>;
  /** Returns a line for the banner; `url` is the program's public address. */
  bannerNote?(url: string): string;
}

/** The program's side of a platform. `create` is called again after a fault of the platform's library. */
export interface PlatformProgram {
  store: Store;
  /** True while this process holds the bot. Call it right before each request that shows something. */
  isHeld(): boolean;
  limits: PlatformLimits;
  /** Private networks that addresses from chat may be in. */
  allowPrivate: readonly string[];
  log: Logger;
  onFatal(error: Error): void;
}

/** Declares a platform, so that `configure` sees the types of its own settings. */
export function registration<const Variables extends VariableTable>(
  declared: PlatformRegistration<Variables>,
): PlatformRegistration<Variables> {
  return declared;
}
