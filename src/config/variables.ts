import { z } from 'zod';
import type { VariableTable } from '../app/platforms/registration.ts';
import { platforms } from '../app/platforms.ts';
import {
  anchors,
  cidrs,
  httpUrl,
  places,
  providerVariables,
  proxies,
  publicUrl,
  ROLES,
  roles,
  secret,
  text,
  trueOrFalse,
  variable,
  who,
  wholeNumber,
} from './variable-types.ts';

/** The settings that belong to no chat platform. */
export const programVariables = {
  GATEWAY_BASE_URL: variable({
    group: 'Services',
    about: 'a model gateway elsewhere',
    shown: 'the embedded one',
    schema: httpUrl().optional(),
  }),
  GATEWAY_API_KEY: secret('Services', 'its key'),
  MONITORING_BASE_URL: variable({
    group: 'Services',
    about: 'a monitoring service elsewhere',
    shown: 'the embedded one',
    schema: httpUrl().optional(),
  }),
  MONITORING_API_KEY: secret('Services', 'its key'),
  ASK_MODEL: variable({
    group: 'Asking',
    about: 'model of `/ask` when none is named',
    shown: 'the first text model of the catalog',
    schema: text(),
  }),
  ASK_SYSTEM_PROMPT: variable({
    group: 'Asking',
    about: 'what the model is told before every conversation',
    shown: 'a short one of its own',
    schema: text(),
  }),
  ASK_STALL_SECONDS: variable({
    group: 'Asking',
    about: 'an answer with no new text for so long is ended with a note',
    shown: '60',
    schema: wholeNumber(1, 600, 60),
  }),
  ALERT_CHANNELS: variable({
    group: 'Alerts',
    about:
      'channels that hear every alert: `slack:C0123,discord:4567`; with several workspaces `slack:T0123/C0123`',
    shown: '',
    schema: places(platforms),
  }),
  ALERT_POLL_SECONDS: variable({
    group: 'Alerts',
    about: 'seconds between two polls of the monitors',
    shown: '15; 5 with the embedded service',
    schema: wholeNumber(1, 3600, 0),
  }),
  WHO_MAY_ADD: variable({
    group: 'Rights',
    about:
      'who may add monitors: `everyone`, `managers` (of the workspace or server), or ids of people, user groups and roles besides: `slack:S0123,discord:4567`',
    shown: 'everyone',
    schema: who('everyone', platforms),
  }),
  WHO_MAY_MANAGE: variable({
    group: 'Rights',
    about:
      'who may pause and remove monitors, and set how a channel is alerted and answered; written alike',
    shown: 'managers',
    schema: who('managers', platforms),
  }),
  ...providerVariables(),
  ASKWATCH_CATALOG: variable({
    group: 'Models',
    about: 'a catalog file of your own',
    shown: 'the shipped one',
    schema: text(),
  }),
  MONITOR_ALLOW_PRIVATE: variable({
    group: 'Monitoring',
    about:
      'address ranges that checks may reach besides public addresses: `127.0.0.1/32,10.0.0.0/8`',
    shown: 'none',
    schema: cidrs,
  }),
  MONITOR_NETWORK_ANCHORS: variable({
    group: 'Monitoring',
    about:
      'addresses beyond this machine that answer over TCP while its own network is there: `192.168.0.1,9.9.9.9:443`; port 53 when left out',
    shown: 'the resolvers of this machine',
    schema: anchors,
  }),
  STATUS_PAGE_PUBLIC: variable({
    group: 'Program',
    about:
      '`true` shows the status page, its badges and its feed to anyone: names and how they are, never targets or causes',
    shown: 'false',
    schema: trueOrFalse.prefault('false'),
  }),
  PUBLIC_URL: variable({
    group: 'Program',
    about:
      'where others reach this program, behind a proxy or a load balancer: `https://askwatch.example.com`; stands in push addresses, feeds, badges and examples',
    shown:
      'the address of the request where `HOST` is beyond this machine or a trusted proxy tells it, else where it listens',
    schema: publicUrl,
  }),
  TRUSTED_PROXIES: variable({
    group: 'Program',
    about:
      'addresses and address ranges of the proxies in front, whose `X-Forwarded-For`, `-Proto` and `-Host` are believed: `127.0.0.1,10.0.0.0/24`; without it everybody behind a proxy counts as one address',
    shown: 'none',
    schema: proxies,
  }),
  DATA_DIR: variable({
    group: 'Program',
    about: 'folder of the state',
    shown: './data',
    schema: z.string().default('./data'),
  }),
  DATABASE_URL: secret(
    'Program',
    'PostgreSQL instead of `DATA_DIR`; not in this version, which stops when it is set',
  ),
  ASKWATCH_ROLES: variable({
    group: 'Program',
    about: 'which parts run in this process',
    shown: ROLES.join(','),
    schema: roles,
  }),
  CONSOLE_PASSWORD: secret(
    'Program',
    'who opens the console logs in with it, 12 to 500 characters; without it the console opens on this machine only, for everyone there',
    z
      .string()
      .min(12, 'must have at least 12 characters; make one up with: openssl rand -base64 18')
      .max(500, 'must have at most 500 characters')
      .optional(),
  ),
  HOST: variable({
    group: 'Program',
    about: 'address to listen on; beyond this machine the console needs `CONSOLE_PASSWORD`',
    shown: '127.0.0.1',
    schema: z.string().default('127.0.0.1'),
  }),
  PORT: variable({
    group: 'Program',
    about:
      'one listener for both services, console, `/healthz`, `/readyz`, `/metrics`; 0 takes a free one',
    shown: '3000',
    schema: wholeNumber(0, 65_535, 3000),
  }),
  LOG_LEVEL: variable({
    group: 'Program',
    about: 'trace, debug (with a line for each request), info, warn, error or silent',
    shown: 'info',
    schema: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
        error: 'must be trace, debug, info, warn, error or silent',
      })
      .default('info'),
  }),
};

/** Every setting, in the order of docs/settings.md. No other file reads the environment. */
export const variables: VariableTable = {
  ...Object.assign({}, ...platforms.map((platform) => platform.variables)),
  ...programVariables,
};
