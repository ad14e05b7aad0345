import {
  readSettings as readWith,
  secretsIn as secretsWith,
  variablesOf,
} from '../config/settings.ts';
import { readToolServers as readToolServersWith } from '../config/tool-servers.ts';
import { platforms } from './platforms.ts';

export { isLoopback, SettingsError } from '../config/settings.ts';

/** Every setting. No other file reads the environment. */
export const variables = variablesOf(platforms);

/** Names of the variables whose values are secrets. */
export const secretVariables = variables.flatMap(({ name, secret }) => (secret ? [name] : []));

/** All settings, validated. */
export type Settings = ReturnType<typeof readSettings>;

/** Reads all settings. Throws a `SettingsError` that lists everything wrong at once. */
export const readSettings = (env: NodeJS.ProcessEnv) => readWith(env, platforms);

/** Values of the environment that must never be logged or shown. */
export const secretsIn = (env: NodeJS.ProcessEnv) => secretsWith(env, variables);

/** Reads the MCP servers in the file of MCP_CONFIG. */
export const readToolServers = (file: string | undefined, env: NodeJS.ProcessEnv) =>
  readToolServersWith(file, env, platforms);
