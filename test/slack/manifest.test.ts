import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { topLevelNames } from '../../src/bot/commands/command.ts';
import { readLine } from '../../src/bot/commands/command-input.ts';
import { commands } from '../../src/bot/features.ts';
import { slackManifest } from '../../src/slack/manifest.ts';

const Url = z
  .string()
  .regex(/^https?:\/\//)
  .max(3_500);
const Name = z.string().max(50);

/** The parts of a manifest that we use. Slack refuses unknown fields. Source: Slack docs, "App manifest reference". */
const Accepted = z.strictObject({
  _metadata: z.strictObject({ major_version: z.literal(2), minor_version: z.int() }),
  display_information: z.strictObject({
    name: z.string().min(1).max(35),
    description: z.string().min(1).max(140),
    background_color: z.string().regex(/^#[0-9a-f]{3}([0-9a-f]{3})?$/),
  }),
  features: z.strictObject({
    shortcuts: z.array(
      z.strictObject({
        name: z.string().min(1).max(24),
        type: z.enum(['message', 'global']),
        callback_id: z.string().min(1).max(255),
        description: z.string().min(1).max(150),
      }),
    ),
    app_home: z.strictObject({
      home_tab_enabled: z.boolean(),
      messages_tab_enabled: z.boolean(),
      messages_tab_read_only_enabled: z.boolean(),
    }),
    agent_view: z.strictObject({
      agent_description: z.string().max(300),
      suggested_prompts: z
        .array(z.strictObject({ title: z.string().min(1), message: z.string().min(1) }))
        .max(4),
    }),
    bot_user: z.strictObject({
      display_name: z.string().min(1).max(80),
      always_online: z.boolean(),
    }),
    slash_commands: z
      .array(
        z.strictObject({
          command: z.string().regex(/^\/[a-z]{1,31}$/),
          description: z.string().min(1).max(2_000),
          usage_hint: z.string().max(1_000),
          should_escape: z.boolean(),
          url: Url.optional(),
        }),
      )
      .max(50),
  }),
  oauth_config: z.strictObject({
    redirect_urls: z.array(Url).max(1_000).optional(),
    scopes: z.strictObject({
      bot: z.array(Name).max(255),
      bot_optional: z.array(Name).max(255).optional(),
    }),
  }),
  settings: z.strictObject({
    event_subscriptions: z.strictObject({
      request_url: Url.optional(),
      bot_events: z.array(Name).max(100),
    }),
    interactivity: z.strictObject({ is_enabled: z.boolean(), request_url: Url.optional() }),
    org_deploy_enabled: z.boolean(),
    socket_mode_enabled: z.boolean(),
    token_rotation_enabled: z.boolean(),
  }),
});

type Manifest = z.infer<typeof Accepted>;

const manifest = slackManifest(commands) as Manifest;

test.each(['slack', 'slack-http'])('manifests/%s.json is what Slack takes', (name) => {
  const text = readFileSync(new URL(`../../manifests/${name}.json`, import.meta.url), 'utf8');
  expect(Accepted.safeParse(JSON.parse(text)).error?.issues).toBeUndefined();
});

test('the manifest has one slash command for each first word, and no more', () => {
  const names = manifest.features.slash_commands.map(({ command }) => command);
  expect(names.toSorted()).toEqual(['/ask', '/askwatch', '/monitor']);
  expect(topLevelNames(commands).map((name) => `/${name}`)).toEqual(names);
});

test('every slash command keeps Slack’s limits and shows what can follow it', () => {
  for (const { description, usage_hint } of manifest.features.slash_commands) {
    expect(description).toMatch(/^.{5,100}$/);
    expect(usage_hint.length).toBeGreaterThan(2);
  }
  expect(manifest.features.slash_commands.every(({ should_escape }) => should_escape)).toBe(true);
  const hints = manifest.features.slash_commands.map(({ usage_hint }) => usage_hint).join('\n');
  expect(hints).toContain('<question>');
  expect(hints).toContain('add | list');
});

test('the manifest asks for the scopes that its events and our calls need, and no others', () => {
  const needed: Record<string, string | undefined> = {
    agent_session_stopped: 'assistant:write',
    app_home_opened: undefined,
    app_uninstalled: undefined,
    tokens_revoked: undefined,
    app_mention: 'app_mentions:read',
    channel_unarchive: 'channels:read',
    group_unarchive: 'groups:read',
    // Both kinds of channels.
    member_joined_channel: undefined,
    'message.channels': 'channels:history',
    'message.groups': 'groups:history',
    'message.im': 'im:history',
  };
  const { bot_events } = manifest.settings.event_subscriptions;
  expect(bot_events.filter((event) => !(event in needed))).toEqual([]);
  const ofEvents = bot_events.flatMap((event) => needed[event] ?? []);
  expect(manifest.oauth_config.scopes.bot.toSorted()).toEqual(
    [
      ...ofEvents,
      ...['chat:write', 'commands', 'files:read', 'files:write', 'users:read'],
    ].toSorted(),
  );
  // Each optional one is among them. Source: Slack docs, "Optional scopes".
  expect(manifest.oauth_config.scopes.bot_optional).toEqual(['files:read', 'files:write']);
});

test('the agent view suggests lines that are commands of ours', () => {
  const { suggested_prompts } = manifest.features.agent_view;
  expect(suggested_prompts.length).toBeGreaterThan(0);
  for (const { title, message } of suggested_prompts) {
    expect(title).toMatch(/^.{3,50}$/);
    expect(readLine(message, commands)).toMatchObject({ kind: 'command' });
  }
});

test('over HTTP every way in has the one address, and nothing else differs', () => {
  const url = 'https://askwatch.example.com/slack/events';
  const overHttp = slackManifest(commands, url) as Manifest;
  const { features, settings } = overHttp;
  expect(features.slash_commands).toEqual(
    manifest.features.slash_commands.map((command) => ({ ...command, url })),
  );
  expect(settings).toEqual({
    ...manifest.settings,
    event_subscriptions: { ...manifest.settings.event_subscriptions, request_url: url },
    interactivity: { is_enabled: true, request_url: url },
    socket_mode_enabled: false,
  });
  expect(overHttp.oauth_config).toEqual({
    ...manifest.oauth_config,
    redirect_urls: ['https://askwatch.example.com/slack/oauth_redirect'],
  });
});
