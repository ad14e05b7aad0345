import { describe, expect, test } from 'vitest';
import { isLoopback, readSettings, SettingsError, variables } from '../../src/app/settings.ts';

function problemsOf(env: Record<string, string>): string {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
  return '';
}

/** Slack in several workspaces, short of the way over which it is heard. */
const INSTALL = { SLACK_CLIENT_ID: '1.2', SLACK_CLIENT_SECRET: 'secret-value' };

describe('settings', () => {
  test('none is needed', () => {
    const settings = readSettings({});
    expect(settings.host).toBe('127.0.0.1');
    expect(settings.port).toBe(3000);
    expect(settings.platforms.get('slack')?.settings).toBeUndefined();
    expect(settings.platforms.get('discord')?.settings).toBeUndefined();
    expect(settings.gateway).toBeUndefined();
    expect([...settings.roles]).toEqual(['gateway', 'monitoring', 'bot', 'console']);
    expect(settings.bot).toEqual({
      askModel: undefined,
      askSystemPrompt: undefined,
      mayAdd: 'everyone',
      mayManage: 'managers',
      askStallMs: 60_000,
      feedbackDays: 90,
      alertPlaces: [],
      alertPollMs: 5_000,
    });
    expect(settings.allowPrivate).toEqual([]);
    expect(settings.networkAnchors).toEqual([]);
    expect(settings.trustedProxies).toEqual([]);
    expect(settings.mcpWrites).toBe(false);
  });

  test('name the Alertmanagers where silences may be made, and keep their passwords secret', () => {
    const urls = 'http://a.example:9093/, https://user:hunter2@b.example/am';
    const settings = readSettings({ ALERTMANAGER_URL: urls });
    expect(settings.bot.alertmanagerUrls).toEqual([
      'http://a.example:9093',
      'https://user:hunter2@b.example/am',
    ]);
    expect(settings.secrets).toContain('hunter2');
    expect(problemsOf({ ALERTMANAGER_URL: 'alertmanager:9093' })).toMatch(/^ALERTMANAGER_URL: /);
    expect(problemsOf({ ALERTMANAGER_URL: ',' })).toMatch(/^ALERTMANAGER_URL: /);
  });

  test('know a webhook by its host and a hash, and keep its address secret', () => {
    const address = 'https://hooks.example.com/services/hunter2';
    const settings = readSettings({ ALERT_CHANNELS: `slack:C1,webhook:${address}` });
    expect(settings.bot.alertPlaces).toEqual([
      { platform: 'slack', channel: 'C1' },
      { platform: 'webhook', channel: expect.stringMatching(/^hooks\.example\.com\/[\da-f]{12}$/) },
    ]);
    expect(settings.secrets).toEqual([address]);
    expect(problemsOf({ WEBHOOK_SECRET: 'short' })).toMatch(/^WEBHOOK_SECRET: .*openssl rand/);
  });

  test.each([
    ['webhook:https://h.example/hook?to=a,s3cret', /write a comma in an address as %2C/],
    ['webhook:ftp://h.example/s3cret', /'webhook:ftp:\/\/h\.example\/…' must look like slack:/],
    ['webhok:https://user:pw@h.example/s3cret', /'webhok:https:\/\/h\.example\/…' must look like/],
    ['webhook:https://ntfy.sh/', /^ALERT_CHANNELS: Add the topic/],
  ])('explain what is wrong with the address in %s without its secrets', (places, problem) => {
    const found = problemsOf({ ALERT_CHANNELS: places });
    expect(found).toMatch(problem);
    expect(found).not.toMatch(/s3cret|pw@/);
  });

  test('let a file declare monitors only where the service runs that has them', () => {
    expect(readSettings({ MONITORS_FILE: 'm.yaml' }).monitorsFile).toBe('m.yaml');
    const elsewhere = {
      MONITORING_BASE_URL: 'https://monitoring.example.com',
      MONITORING_API_KEY: 'a-key',
      MONITORS_FILE: 'm.yaml',
    };
    expect(problemsOf(elsewhere)).toMatch(/^MONITORS_FILE: unset it, or unset MONITORING_BASE_URL/);
    const roles = 'bot,gateway';
    expect(problemsOf({ ...elsewhere, ASKWATCH_ROLES: roles })).toContain(
      'MONITORS_FILE: unset it, or add monitoring to ASKWATCH_ROLES',
    );
  });

  test('are read into the shape the program uses', () => {
    const settings = readSettings({
      SLACK_BOT_TOKEN: 'xoxb-1',
      SLACK_APP_TOKEN: 'xapp-1',
      DISCORD_TOKEN: 'd',
      DISCORD_GUILD_ID: '123456789012345678',
      DISCORD_MESSAGE_CONTENT: 'true',
      DISCORD_SHARDS: '3',
      GATEWAY_BASE_URL: 'https://models.example.com/',
      GATEWAY_API_KEY: 'g',
      MONITORING_BASE_URL: 'https://watch.example.com',
      MONITORING_API_KEY: 'm',
      ALERT_CHANNELS: 'slack:C1, discord:4567',
      OPENAI_API_KEY: 'o',
      OPENAI_BASE_URL: 'http://127.0.0.1:9000/v1',
      MONITOR_ALLOW_PRIVATE: '127.0.0.1/32,::1/128',
      MONITOR_NETWORK_ANCHORS: '192.168.0.1, 9.9.9.9:443, 2620:fe::fe, [2620:fe::9]:853',
      TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/24,,fd00::/64',
      ASKWATCH_ROLES: 'bot',
      WHO_MAY_ADD: 'slack:S0123, discord:4567',
      WHO_MAY_MANAGE: 'everyone',
    });
    const [slackGroup, role] = [
      { platform: 'slack', channel: 'S0123' },
      { platform: 'discord', channel: '4567' },
    ];
    expect(settings.bot).toMatchObject({ mayAdd: [slackGroup, role], mayManage: 'everyone' });
    expect(settings.platforms.get('slack')?.settings).toEqual({
      botToken: 'xoxb-1',
      appToken: 'xapp-1',
      apiUrl: 'https://slack.com/api/',
    });
    expect(settings.platforms.get('discord')?.settings).toMatchObject({
      guildId: '123456789012345678',
      messageContent: true,
      shards: 3,
    });
    expect(settings.gateway).toEqual({ baseUrl: 'https://models.example.com', apiKey: 'g' });
    expect(settings.bot.alertPollMs).toBe(15_000);
    expect(settings.bot.alertPlaces).toEqual([
      { platform: 'slack', channel: 'C1' },
      { platform: 'discord', channel: '4567' },
    ]);
    expect(settings.providers).toEqual({
      openai: { apiKey: 'o', baseUrl: 'http://127.0.0.1:9000/v1' },
    });
    expect(settings.allowPrivate).toEqual(['127.0.0.1/32', '::1/128']);
    expect(settings.networkAnchors).toEqual([
      '192.168.0.1:53',
      '9.9.9.9:443',
      '[2620:fe::fe]:53',
      '[2620:fe::9]:853',
    ]);
    expect(settings.trustedProxies).toEqual(['127.0.0.1', '10.0.0.0/24', 'fd00::/64']);
    expect([...settings.roles]).toEqual(['bot']);
  });

  test('Slack settings for one workspace and for several are told apart', () => {
    const install = { SLACK_CLIENT_ID: '1.2', SLACK_CLIENT_SECRET: 'client-secret' };
    const settings = readSettings({
      ...install,
      SLACK_SIGNING_SECRET: 'signing-secret',
      ALERT_CHANNELS: 'slack:T0123/C0123,discord:4567',
    });
    expect(settings.platforms.get('slack')?.settings).toEqual({
      install: { clientId: '1.2', clientSecret: 'client-secret', moreScopes: [] },
      signingSecret: 'signing-secret',
      apiUrl: 'https://slack.com/api/',
    });
    expect(settings.secrets.sort()).toEqual(['client-secret', 'signing-secret']);
    expect(settings.bot.alertPlaces[0]).toEqual({ platform: 'slack', channel: 'T0123/C0123' });
    const scopesOf = (env: NodeJS.ProcessEnv) => {
      const slack = readSettings(env).platforms.get('slack')?.settings;
      return (slack as { install?: { moreScopes: string[] } } | undefined)?.install?.moreScopes;
    };
    const groups = { ...install, SLACK_APP_TOKEN: 'xapp-1', WHO_MAY_ADD: 'slack:U1,slack:S0123' };
    expect(scopesOf(groups)).toEqual(['usergroups:read']);
    expect(scopesOf({ ...groups, WHO_MAY_ADD: 'slack:U1' })).toEqual([]);
  });

  test.each([
    ['PORT', { PORT: 'eighty' }],
    ['PORT', { PORT: '70000' }],
    ['SLACK_BOT_TOKEN', { SLACK_BOT_TOKEN: 'secret-value', SLACK_APP_TOKEN: 'xapp-1' }],
    ['SLACK_APP_TOKEN', { SLACK_BOT_TOKEN: 'xoxb-1' }],
    ['SLACK_BOT_TOKEN', { SLACK_APP_TOKEN: 'xapp-1' }],
    [
      'SLACK_SIGNING_SECRET',
      { SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1', SLACK_SIGNING_SECRET: 's' },
    ],
    ['SLACK_CLIENT_ID', { SLACK_CLIENT_SECRET: 'secret-value', SLACK_APP_TOKEN: 'xapp-1' }],
    ['SLACK_CLIENT_ID', { ...INSTALL, SLACK_CLIENT_ID: 'secret-value' }],
    ['SLACK_CLIENT_SECRET', { SLACK_CLIENT_ID: '1.2', SLACK_APP_TOKEN: 'xapp-1' }],
    ['SLACK_BOT_TOKEN', { ...INSTALL, SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1' }],
    ['SLACK_SIGNING_SECRET', INSTALL],
    ['SLACK_SIGNING_SECRET', { ...INSTALL, SLACK_APP_TOKEN: 'xapp-1', SLACK_SIGNING_SECRET: 's' }],
    ['ALERT_CHANNELS', { ...INSTALL, SLACK_APP_TOKEN: 'xapp-1', ALERT_CHANNELS: 'slack:C0123' }],
    ['ALERT_CHANNELS', { ALERT_CHANNELS: 'slack:T0123/C0123' }],
    ['DISCORD_TOKEN', { DISCORD_GUILD_ID: '123456789012345678' }],
    ['DISCORD_GUILD_ID', { DISCORD_TOKEN: 'd', DISCORD_GUILD_ID: 'my server' }],
    ['DISCORD_SHARDS', { DISCORD_TOKEN: 'd', DISCORD_SHARDS: '0' }],
    ['DISCORD_SHARDS', { DISCORD_TOKEN: 'd', DISCORD_SHARDS: '101' }],
    ['DISCORD_MESSAGE_CONTENT', { DISCORD_MESSAGE_CONTENT: 'yes' }],
    ['GATEWAY_API_KEY', { GATEWAY_BASE_URL: 'https://x.example.com' }],
    ['GATEWAY_BASE_URL', { GATEWAY_API_KEY: 'g' }],
    ['GATEWAY_BASE_URL', { GATEWAY_BASE_URL: 'x.example.com', GATEWAY_API_KEY: 'g' }],
    ['GATEWAY_BASE_URL', { ASKWATCH_ROLES: 'bot,monitoring' }],
    ['MONITORING_API_KEY', { MONITORING_BASE_URL: 'https://x.example.com' }],
    ['MONITORING_BASE_URL', { ASKWATCH_ROLES: 'bot,gateway' }],
    ['ASKWATCH_ROLES', { ASKWATCH_ROLES: 'bot,cat' }],
    ['ASKWATCH_ROLES', { ASKWATCH_ROLES: 'gateway,console' }],
    ['ASK_STALL_SECONDS', { ASK_STALL_SECONDS: '0' }],
    ['ALERT_POLL_SECONDS', { ALERT_POLL_SECONDS: '0' }],
    ['ALERT_CHANNELS', { ALERT_CHANNELS: 'C0123' }],
    ['MONITOR_ALLOW_PRIVATE', { MONITOR_ALLOW_PRIVATE: '10.0.0.1' }],
    ['MONITOR_NETWORK_ANCHORS', { MONITOR_NETWORK_ANCHORS: 'router.example' }],
    ['MONITOR_NETWORK_ANCHORS', { MONITOR_NETWORK_ANCHORS: '192.168.0.1:70000' }],
    ['MONITOR_NETWORK_ANCHORS', { MONITOR_NETWORK_ANCHORS: '9.9.9.9,127.0.0.53' }],
    ['MONITOR_NETWORK_ANCHORS', { MONITOR_NETWORK_ANCHORS: '[::1]:53' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'askwatch.example.com' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'ftp://askwatch.example.com' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'https://user:secret-value@askwatch.example.com' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'https://askwatch.example.com/?a=1' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'https://askwatch.example.com/#a' }],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: 'proxy.example.com' }],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: '127.0.0.1,0.0.0.0/0' }],
    ['OLLAMA_BASE_URL', { OLLAMA_BASE_URL: 'localhost' }],
    ['LOG_LEVEL', { LOG_LEVEL: 'loud' }],
    ['CONSOLE_PASSWORD', { HOST: '0.0.0.0' }],
    ['CONSOLE_PASSWORD', { HOST: 'ask.example.com' }],
    ['CONSOLE_PASSWORD', { CONSOLE_PASSWORD: 'sesame' }],
    ['CONSOLE_PASSWORD', { CONSOLE_PASSWORD: 'x'.repeat(501) }],
    ['DATABASE_URL', { DATABASE_URL: 'mysql://u:p@localhost/a' }],
    ['DATABASE_URL', { DATABASE_URL: 'postgres://u:p@localhost' }],
    ['DATABASE_URL', { DATABASE_DIRECT_URL: 'postgres://u:p@localhost/a' }],
    ['DATABASE_POOL', { DATABASE_POOL: '1' }],
    ['DATABASE_SCHEMA', { DATABASE_SCHEMA: 'Mine; drop' }],
  ])('a wrong %s is named, with what to do, and never its value', (name, env) => {
    const problems = problemsOf(env);
    expect(problems).toMatch(new RegExp(`^${name}: .{20,}`, 'm'));
    expect(problems).not.toContain('secret-value');
    expect(problems).not.toContain('u:p');
  });

  test('all wrong settings are reported at once', () => {
    expect(problemsOf({ PORT: 'x', LOG_LEVEL: 'x' }).split('\n')).toHaveLength(2);
  });

  test('tokens and keys are known as secrets, other values are not', () => {
    const { secrets } = readSettings({
      OPENAI_API_KEY: 'sk-1',
      PORT: '8080',
      DISCORD_TOKEN: 'd-1',
    });
    expect(secrets.sort()).toEqual(['d-1', 'sk-1']);
    for (const { name, secret } of variables) {
      expect([name, secret === true]).toEqual([
        name,
        /TOKEN|SECRET|PASSWORD|API_KEY|(DATABASE_(DIRECT_)?|ALERTMANAGER_)URL/.test(name),
      ]);
    }
  });

  test('the console needs a password beyond this machine, unless it is not started', () => {
    const problems = problemsOf({ HOST: '0.0.0.0' });
    for (const way of ['CONSOLE_PASSWORD', 'HOST=127.0.0.1', 'ASKWATCH_ROLES']) {
      expect(problems).toContain(way);
    }
    const CONSOLE_PASSWORD = 'correct horse battery';
    const { consolePassword, secrets } = readSettings({ HOST: '0.0.0.0', CONSOLE_PASSWORD });
    expect([consolePassword, secrets]).toEqual([CONSOLE_PASSWORD, [CONSOLE_PASSWORD]]);
    expect(problemsOf({ HOST: '0.0.0.0', ASKWATCH_ROLES: 'gateway,monitoring,bot' })).toBe('');
    expect(readSettings({ HOST: '::1' }).consolePassword).toBeUndefined();
  });

  test.each([
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['::1', true],
    ['::1%.', false],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['192.168.1.5', false],
    ['example.com', false],
  ])('%s is reachable from this machine only: %s', (host, loopback) => {
    expect(isLoopback(host)).toBe(loopback);
  });
});
