import { ASK_ABOUT } from '../bot/commands/ask-about.ts';
import { type Command, topLevelNames, usageOf } from '../bot/commands/command.ts';
import { SUGGESTED_PROMPTS } from './answers/agent.ts';

const GROUPS: Record<string, string> = {
  monitor: 'Watch services and get alerts when they go down',
  askwatch: 'Askwatch models, settings and help',
};

export const BOT_SCOPES = [
  'app_mentions:read', // a mention is a question
  'assistant:write', // status and suggestions in direct messages
  'channels:history', // follow-ups in threads, and threads of people; the look for an alert that may have been posted
  'channels:read', // a channel is unarchived, or the bot is invited: alerts that wait are sent there
  'chat:write',
  'commands',
  'files:read', // pictures and files of a question
  'files:write', // documents of answers
  'groups:history', // the same in private channels
  'groups:read', // a private channel is unarchived, or the bot is invited
  'im:history', // direct messages
  'users:read', // who is an admin of the workspace, and what those are called who wrote in a thread
];

/** Scopes that people may leave out, with the effect. */
export const OPTIONAL_SCOPES: Record<string, string> = {
  'files:read': 'without it, Askwatch can’t read images and files',
  'files:write': 'without it, Askwatch can’t attach postmortems as files',
};

/**
 * The manifest of the Slack app with the scopes that the program uses: for Socket Mode, or for HTTP at `url`. Source: Slack
 * docs, "App manifest reference"; scopes from the pages of the methods and events.
 */
export function slackManifest(commands: readonly Command[], url?: string) {
  return {
    _metadata: { major_version: 2, minor_version: 0 },
    display_information: {
      name: 'Askwatch',
      description: 'Ask an AI in a thread and watch your services',
      background_color: '#1f2937',
    },
    features: {
      app_home: {
        home_tab_enabled: true,
        messages_tab_enabled: true,
        messages_tab_read_only_enabled: false,
      },
      agent_view: {
        agent_description: 'Ask an AI and watch your services. Answers appear as they are written.',
        suggested_prompts: SUGGESTED_PROMPTS,
      },
      shortcuts: [
        {
          name: ASK_ABOUT.label,
          type: 'message',
          callback_id: ASK_ABOUT.id,
          description: ASK_ABOUT.summary,
        },
      ],
      bot_user: { display_name: 'Askwatch', always_online: true },
      slash_commands: topLevelNames(commands).map((name) => ({
        ...slashCommand(name, commands),
        url,
      })),
    },
    oauth_config: {
      // Slack redirects to it after an installation.
      ...(url !== undefined && { redirect_urls: [new URL('/slack/oauth_redirect', url).href] }),
      scopes: {
        bot: BOT_SCOPES,
        bot_optional: Object.keys(OPTIONAL_SCOPES),
      },
    },
    settings: {
      event_subscriptions: {
        request_url: url,
        bot_events: [
          'agent_session_stopped',
          'app_home_opened',
          'app_mention',
          'app_uninstalled',
          'channel_unarchive',
          'group_unarchive',
          'member_joined_channel',
          'message.channels',
          'message.groups',
          'message.im',
          'tokens_revoked',
        ],
      },
      // Presses of buttons.
      interactivity: { is_enabled: true, request_url: url },
      org_deploy_enabled: false,
      socket_mode_enabled: url === undefined,
      token_rotation_enabled: false,
    },
  };
}

/**
 * `should_escape`: user groups, links, channels and people arrive with their ids, as in messages, so `decodeText` reads both.
 */
function slashCommand(name: string, commands: readonly Command[]) {
  const alone = commands.find((command) => command.name === name);
  const below = commands.filter((command) => command.name.startsWith(`${name} `));
  const endings = below.map((command) => command.name.slice(name.length + 1));
  return {
    command: `/${name}`,
    description: alone?.summary ?? GROUPS[name] ?? endings.join(', '),
    usage_hint: alone ? usageOf(alone).slice(name.length + 2) : endings.join(' | '),
    should_escape: true,
  };
}
