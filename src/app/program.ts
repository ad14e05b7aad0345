import type { Logger } from 'pino';
import type { OpenBot } from '../bot/platform.ts';
import type { ToolServerSettings } from '../config/tool-servers.ts';
import type { AccountServices } from '../console/account/account.ts';
import type { openControl } from '../http/control.ts';
import type { Keys } from '../http/keys.ts';
import type { AddressFor } from '../http/public-address.ts';
import type { ServerKit } from '../http/server.ts';
import type { MonitoringOptions } from '../monitoring/monitoring.ts';
import type { Monitors } from '../monitoring/monitors/monitors.ts';
import type { Store } from '../store/store.ts';
import type { Settings } from './settings.ts';

/** The program, as its parts are opened. */
export interface Program {
  settings: Settings;
  toolServers: readonly ToolServerSettings[];
  version: string;
  log: Logger;
  /** Replaces secrets in a text. */
  redact(text: string): string;
  store: Store;
  kit: ServerKit;
  keys: Record<'gateway' | 'monitoring', Keys>;
  addressFor: AddressFor;
  /** The address on which it listens; empty before. */
  url(): string;
  /** The monitors of the service in this process, once it is open. */
  monitors(): Pick<Monitors, 'all'>;
  /** The bot, while this process has it. */
  bot(): OpenBot | undefined;
  runs(role: Parameters<Settings['roles']['has']>[0]): boolean;
  /** True if this process may get the bot or passes requests on to it. */
  knowsBot: boolean;
}

/** The part of a feature outside of the bot, such as its routes. `features.ts` lists them. */
export interface ProgramFeature {
  /** The name of the feature in the bot, if it has a part there. */
  name: string;
  /** Opens it before the services open and the program listens. */
  open(program: Program): OpenProgramFeature | Promise<OpenProgramFeature>;
}

export interface OpenProgramFeature {
  /** Given to its part of each bot. */
  shared?: unknown;
  /** For the console's account area. */
  account?: Pick<AccountServices, 'intakes' | 'hasMcp'>;
  /** For the control socket. */
  control?: Pick<Parameters<typeof openControl>[0], 'feedback' | 'monitors'>;
  /** For the monitoring service in this process, which opens later. */
  openFiles?: MonitoringOptions['openFiles'];
  /** True for a path whose requests are for the process that has the bot. */
  isForBot?(path: string): boolean;
  close?(): Promise<unknown>;
}
