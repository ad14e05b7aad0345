import { z } from 'zod';
import type { NamedPlaces, SettingsRule } from '../../config/platform-settings.ts';
import { httpUrl, secret, startingWith, type ValuesOf } from '../../config/variable-types.ts';
import type { Store } from '../../store/store.ts';
import { registration } from './registration.ts';

const variables = {
  botToken: secret(
    'SLACK_BOT_TOKEN',
    'bot token of the Slack app',
    startingWith('xoxb-', 'your app at api.slack.com/apps, "OAuth & Permissions"'),
  ),
  appToken: secret(
    'SLACK_APP_TOKEN',
    'app-level token with connections:write, for Slack over Socket Mode',
    startingWith('xapp-', 'your app at api.slack.com/apps, "Basic Information"'),
  ),
  signingSecret: secret(
    'SLACK_SIGNING_SECRET',
    'signing secret, for Slack over HTTP (`POST /slack/events` on `PORT`) instead of the app token',
  ),
  clientId: {
    name: 'SLACK_CLIENT_ID',
    about:
      'client id, for several workspaces that install the app at `/slack/install`; set it instead of the bot token',
    shown: '',
    schema: z
      .string()
      .regex(
        /^\d+\.\d+$/,
        'must be two numbers separated by a dot; copy it from "Basic Information"',
      )
      .optional(),
  },
  clientSecret: secret(
    'SLACK_CLIENT_SECRET',
    'client secret; it encrypts the workspaces’ tokens, so if you change it, every workspace must reinstall the app',
  ),
  apiUrl: {
    name: 'SLACK_API_URL',
    about: 'Slack API URL, for example for GovSlack',
    shown: 'https://slack.com/api/',
    schema: httpUrl()
      .default('https://slack.com/api')
      .transform((url) => `${url}/`),
  },
};
type Values = ValuesOf<typeof variables>;

/**
 * Installations of several workspaces by workspace id; `src/slack` encrypts them. A damaged one is an error, because without it the
 * workspace would have to install Askwatch again.
 */
export const slackInstallations = {
  name: 'slack-installations',
  schema: z.object({ sealed: z.string(), isRemoved: z.boolean().optional() }),
  version: 1,
  whenCorrupt: 'refuse' as const,
};

/** The states of installations that were used, for as long as they last. */
export const slackInstallStates = {
  name: 'slack-install-states',
  schema: z.never(),
  keptMs: 600_000,
};

/** The collections of installations, opened once for each lease: the platform may be created again under the same one. */
const installStores = new WeakMap<Store, ReturnType<typeof openInstallStore>>();

const openInstallStore = (store: Store) => ({
  installations: store.collection(slackInstallations),
  usedStates: store.claims(slackInstallStates),
});

function installStoreOf(store: Store) {
  const opened = installStores.get(store) ?? openInstallStore(store);
  installStores.set(store, opened);
  return opened;
}

const loadSlack = () => import('../../slack/slack.ts');

const EVENTS_ROUTE = { method: 'POST', path: '/slack/events' } as const;
const INSTALL_ROUTES = ['/slack/install', '/slack/oauth_redirect'].map(
  (path) => ({ method: 'GET', path }) as const,
);

/** Placeholder in the manifest; the person who creates the Slack app inserts their host. */
const SLACK_EVENTS = 'https://askwatch.example.com/slack/events';

export const slack = registration({
  name: 'slack',
  title: 'Slack',
  hasHomes: true,
  mention: {
    // Source: Slack docs, "Formatting message text", "Mentioning user groups".
    pattern: /^<!subteam\^(?<id>[A-Z0-9]{2,30})(?:\|(?<name>@?[^<>|]{1,80}))?>$/,
    words:
      'a user group, picked from the list that Slack shows after @ (if you did, the Slack app needs the current manifest: see docs/slack.md)',
  },
  person: { pattern: /^<@(?<id>[UW][A-Z0-9]{1,29})(?:\|(?<name>[^<>|]{1,80}))?>$/ },
  channel: { pattern: /^<#(?<id>[CG][A-Z0-9]{1,29})(?:\|(?<name>[^<>|]{0,80}))?>$/ },
  examples: { channel: 'slack:C0123456789', person: 'slack:S0123456789' },
  variables,
  problems(v, { channels }) {
    const installs = v.clientId !== undefined || v.clientSecret !== undefined;
    return [
      [
        v.botToken !== undefined && !v.appToken && !v.signingSecret,
        'SLACK_APP_TOKEN: set it too (Socket Mode), or SLACK_SIGNING_SECRET (HTTP)',
      ],
      [
        v.botToken === undefined && !installs && Boolean(v.appToken || v.signingSecret),
        'SLACK_BOT_TOKEN: set it too; install the app under "OAuth & Permissions" to get it',
      ],
      ...installRules(v, channels),
      [
        v.appToken !== undefined && v.signingSecret !== undefined,
        'SLACK_SIGNING_SECRET: unset it to use Socket Mode, or unset SLACK_APP_TOKEN to use HTTP',
      ],
    ];
  },
  configure({ clientId, clientSecret, ...connection }, named) {
    const install = clientId &&
      clientSecret && { clientId, clientSecret, moreScopes: scopesFor(named) };
    if (!connection.botToken && !install) return undefined;
    return {
      settings: { ...connection, ...(install && { install }) },
      routes: [...(connection.appToken ? [] : [EVENTS_ROUTE]), ...(install ? INSTALL_ROUTES : [])],
      load: loadSlack,
      async create({ store, ...program }) {
        const { createSlack } = await loadSlack();
        return await createSlack({
          ...connection,
          ...(install && { install: { ...install, ...installStoreOf(store) } }),
          ...program,
        });
      },
      async check(tools) {
        const { checkSlack } = await import('../../slack/doctor.ts');
        const { channels, people } = named;
        return await checkSlack({
          ...connection,
          channels,
          usesGroups: people.some(isGroup),
          ...tools,
        });
      },
      bannerNote: (url) => (install ? `; add workspaces at ${url}/slack/install` : ''),
    };
  },
  async manifests(commands) {
    const { slackManifest } = await import('../../slack/manifest.ts');
    return {
      'manifests/slack.json': slackManifest(commands),
      'manifests/slack-http.json': slackManifest(commands, SLACK_EVENTS),
    };
  },
});

/** Rules about Slack in several workspaces, which install the app themselves. */
function installRules(v: Values, channels: readonly string[]): SettingsRule[] {
  const { clientId: id, clientSecret: secret } = v;
  const installs = id !== undefined && secret !== undefined;
  const withWorkspace = (channel: string) => /^T[A-Z0-9]+\/[A-Z0-9]+$/.test(channel);
  return [
    [
      id !== undefined && secret === undefined,
      'SLACK_CLIENT_SECRET: set it too; it is next to the client id under "Basic Information"',
    ],
    [
      id === undefined && secret !== undefined,
      'SLACK_CLIENT_ID: set it too; it is next to the client secret under "Basic Information"',
    ],
    [
      installs && v.botToken !== undefined,
      'SLACK_BOT_TOKEN: unset it, because with SLACK_CLIENT_ID each workspace has its own token; for one workspace, unset SLACK_CLIENT_ID and SLACK_CLIENT_SECRET',
    ],
    [
      installs && !v.appToken && !v.signingSecret,
      'SLACK_SIGNING_SECRET: set it too (HTTP), or SLACK_APP_TOKEN (Socket Mode)',
    ],
    [
      installs && !channels.every(withWorkspace),
      'ALERT_CHANNELS: with SLACK_CLIENT_ID, name each Slack channel with its workspace: slack:T0123/C0123',
    ],
    [
      !installs && channels.some(withWorkspace),
      'ALERT_CHANNELS: with one workspace, name its channels without the workspace: slack:C0123',
    ],
  ];
}

const isGroup = (id: string) => id.startsWith('S');

/** Rights that mention a user group need a scope to read its members. */
const scopesFor = ({ people }: NamedPlaces) => (people.some(isGroup) ? ['usergroups:read'] : []);
