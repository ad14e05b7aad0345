import { isMethod } from './arguments.ts';
import { nameOf } from './buttons.ts';
import { blocksProblem, calledBy, LIMITS } from './limits.ts';
import type { UploadedFile } from './uploads.ts';

/** A message as the workspace keeps it. */
export interface Message {
  ts: string;
  user?: string;
  bot_id?: string;
  text: string;
  blocks?: unknown;
  thread_ts?: string;
  metadata?: { event_type: string; event_payload: Record<string, unknown> };
  edits: number;
  /** A reply that is also shown in the channel, or the rest of a deleted message with replies. */
  subtype?: 'thread_broadcast' | 'tombstone' | 'channel_archive';
  /** People who were notified by the post. */
  called?: string[];
  /** It is a stream that is added to. */
  streaming?: boolean;
  /** An admin lets nobody answer it. */
  locked?: boolean;
  /** Shared files. */
  files?: Array<{ id: string } & Partial<UploadedFile>>;
  attachments?: Array<Record<string, unknown>>;
  username?: string;
}

/** A user of `users.info`; absent flags are false. Source: Slack docs, "User object". */
export interface Profile {
  team_id?: string;
  enterprise_user?: { teams: string[] };
  is_admin?: boolean;
  is_owner?: boolean;
  is_primary_owner?: boolean;
  deleted?: boolean;
  name?: string;
  real_name?: string;
  profile?: { display_name?: string; real_name?: string };
}

export interface Channel {
  id: string;
  kind: 'public' | 'private' | 'im' | 'mpim';
  /** The bot is a member. */
  member: boolean;
  archived: boolean;
  messages: Message[];
  ephemerals: Ephemeral[];
}

/** A message that only one person sees. */
export interface Ephemeral {
  ts: string;
  user: string;
  text: string;
  blocks?: unknown;
  thread_ts?: string;
}

/** Channels and messages, and the methods of the Web API that read and change them. */
export interface Workspace {
  botUserId: string;
  scopes: Set<string>;
  channels: Map<string, Channel>;
  /** People who are more, or less, than members of the workspace. */
  profiles: Map<string, Profile>;
  /** Members of each user group. */
  groups: Map<string, string[]>;
  addChannel(channel: Partial<Channel> & { id: string }): Channel;
  /** Stores a message of a person. */
  say(channel: string, message: { user: string; text: string; threadTs?: string }): Message;
  /** Deletes a message, as its author or an admin does. */
  remove(channel: Channel, ts: string): void;
  /** Shows something to one person. */
  whisper(channel: Channel, message: Omit<Ephemeral, 'ts'>): void;
  /** The answer of a method; undefined when there is no such method. */
  call(method: string, args: Arguments): Answer | undefined;
}

export type Arguments = Record<string, unknown>;
export type Answer = { ok: boolean; error?: string } & Record<string, unknown>;

const SCOPES: Record<string, string> = {
  'chat.postMessage': 'chat:write',
  'chat.update': 'chat:write',
  'chat.delete': 'chat:write',
  'chat.postEphemeral': 'chat:write',
  'users.info': 'users:read',
  'usergroups.users.list': 'usergroups:read',
};

const HISTORY_SCOPES = {
  public: 'channels:history',
  private: 'groups:history',
  im: 'im:history',
  mpim: 'mpim:history',
} as const;

const BOT_ID = 'B00ASKWATCH';

/** Messages in an answer, where an app is sold outside the Marketplace. Source: Slack docs, "conversations.history". */
const DISTRIBUTED_PAGE = 15;

export function createWorkspace(team: {
  teamId: string;
  botUserId: string;
  distributed?: boolean;
}): Workspace {
  const { teamId, botUserId } = team;
  const maxPage = team.distributed ? DISTRIBUTED_PAGE : 999;
  const channels = new Map<string, Channel>();
  const profiles = new Map<string, Profile>();
  const groups = new Map<string, string[]>();
  const scopes = new Set([
    'app_mentions:read',
    'assistant:write',
    'channels:history',
    'channels:read',
    'chat:write',
    'commands',
    'files:read',
    'files:write',
    'groups:history',
    'groups:read',
    'im:history',
    'users:read',
  ]);
  let lastTs = Math.floor(Date.now() / 1000) * 1_000_000;

  /** Strictly increasing, like Slack's: it is the id of a message in its channel. */
  function nextTs(): string {
    lastTs = Math.max(lastTs + 1, Date.now() * 1000);
    const digits = String(lastTs);
    return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
  }

  function store(channel: Channel, message: Omit<Message, 'ts' | 'edits'>): Message {
    const stored = { ...message, ts: nextTs(), edits: 0 };
    channel.messages.push(stored);
    return stored;
  }

  function whisper(channel: Channel, message: Omit<Ephemeral, 'ts'>): void {
    channel.ephemerals.push({ ...message, ts: nextTs() });
  }

  function remove(channel: Channel, ts: string) {
    const at = channel.messages.findIndex((message) => message.ts === ts);
    const replied = channel.messages.some(({ thread_ts }) => thread_ts === ts);
    const left: Message = {
      ts,
      text: 'This message was deleted.',
      subtype: 'tombstone',
      edits: 0,
    };
    channel.messages.splice(at, 1, ...(replied ? [left] : []));
  }

  const methods: Record<string, (args: Arguments, channel: Channel) => Answer> = {
    'chat.postMessage'(args, channel) {
      const thread = args.thread_ts as string | undefined;
      if (channel.archived) return no('is_archived');
      if (!channel.member)
        return no(channel.kind === 'public' ? 'not_in_channel' : 'channel_not_found');
      const refused = thread === undefined ? undefined : threadProblem(channel, thread);
      if (refused) return no(refused);
      const problem = contentProblem(args) ?? metadataProblem(args.metadata);
      if (problem) return no(problem);
      const message = store(channel, {
        user: botUserId,
        bot_id: BOT_ID,
        text: String(args.text ?? args.markdown_text ?? '').slice(0, LIMITS.postedText),
        blocks: args.blocks,
        thread_ts: thread,
        ...(thread !== undefined && args.reply_broadcast === 'true'
          ? { subtype: 'thread_broadcast' as const }
          : {}),
        called: calledBy({ text: String(args.text ?? ''), blocks: args.blocks }),
        ...(args.metadata === undefined
          ? {}
          : { metadata: args.metadata as Message['metadata'] & {} }),
      });
      return { ok: true, channel: channel.id, ts: message.ts, message };
    },
    'chat.update'(args, channel) {
      // To a bot that is not in it, a private channel does not exist.
      if (!channel.member && channel.kind === 'private') return no('channel_not_found');
      const message = channel.messages.find(({ ts }) => ts === args.ts);
      if (!message) return no('message_not_found');
      if (channel.archived) return no('is_archived');
      if (message.bot_id !== BOT_ID) return no('cant_update_message');
      if (message.streaming) return no('streaming_state_conflict');
      const problem = contentProblem(args);
      if (problem) return no(problem);
      const text = String(args.text ?? args.markdown_text ?? '');
      if (text.length > LIMITS.editedText) return no('msg_too_long');
      message.text = text;
      message.blocks = args.blocks;
      message.edits += 1;
      return { ok: true, channel: channel.id, ts: message.ts, text };
    },
    'chat.getPermalink'(args, channel) {
      const message = channel.messages.find(({ ts }) => ts === args.message_ts);
      if (!message) return no('message_not_found');
      const permalink = `https://fake.slack.com/archives/${channel.id}/p${message.ts.replace('.', '')}`;
      return { ok: true, channel: channel.id, permalink };
    },
    'chat.delete'(args, channel) {
      const message = channel.messages.find(({ ts }) => ts === args.ts);
      if (!message) return no('message_not_found');
      if (channel.archived) return no('is_archived');
      if (message.bot_id !== BOT_ID) return no('cant_delete_message');
      remove(channel, message.ts);
      return { ok: true, channel: channel.id, ts: message.ts };
    },
    'chat.postEphemeral'(args, channel) {
      if (channel.archived) return no('is_archived');
      if (!channel.member)
        return no(channel.kind === 'public' ? 'not_in_channel' : 'channel_not_found');
      const problem = contentProblem(args);
      if (problem) return no(problem);
      whisper(channel, {
        user: String(args.user),
        text: String(args.text ?? ''),
        blocks: args.blocks,
        ...(args.thread_ts === undefined ? {} : { thread_ts: String(args.thread_ts) }),
      });
      return { ok: true, message_ts: nextTs() };
    },
    'conversations.history'(args, channel) {
      const refused = readProblem(channel);
      if (refused) return refused;
      return page(channel.messages.filter(standsInChannel).toReversed(), args, maxPage);
    },
    'conversations.replies'(args, channel) {
      const refused = readProblem(channel);
      if (refused) return refused;
      const thread = channel.messages.filter(
        ({ ts, thread_ts }) => ts === args.ts || thread_ts === args.ts,
      );
      return thread.length === 0 ? no('thread_not_found') : page(thread, args, maxPage);
    },
  };

  /** Source: Slack docs, "chat.postMessage", errors. */
  function threadProblem(channel: Channel, thread: string): string | undefined {
    const root = channel.messages.find(({ ts }) => ts === thread);
    if (!root) return 'thread_not_found';
    if (root.subtype === 'tombstone') return 'cannot_reply_to_message';
    return root.locked ? 'restricted_action_thread_locked' : undefined;
  }

  function readProblem(channel: Channel): Answer | undefined {
    const needed = HISTORY_SCOPES[channel.kind];
    if (!scopes.has(needed)) return { ok: false, error: 'missing_scope', needed };
    return channel.member ? undefined : no('not_in_channel');
  }

  return {
    botUserId,
    scopes,
    channels,
    profiles,
    groups,
    whisper,
    remove,
    addChannel({ id, ...more }) {
      const kind = id.startsWith('D') ? 'im' : 'public';
      const channel: Channel = {
        id,
        kind,
        member: true,
        archived: false,
        messages: [],
        ephemerals: [],
        ...more,
      };
      channels.set(id, channel);
      return channel;
    },
    say(id, { user, text, threadTs }) {
      const channel = channels.get(id);
      if (!channel) throw new Error(`The fake has no channel ${id}.`);
      return store(channel, {
        user,
        text,
        thread_ts: threadTs,
      });
    },
    call(method, args) {
      if (!isMethod(method)) return undefined;
      if (method === 'auth.test') {
        return {
          ok: true,
          user_id: botUserId,
          user: 'askwatch',
          bot_id: BOT_ID,
          team_id: teamId,
          team: 'Fake',
        };
      }
      const scope = SCOPES[method];
      if (scope && !scopes.has(scope)) return { ok: false, error: 'missing_scope', needed: scope };
      if (method === 'users.info') {
        const id = String(args.user);
        const user = { id, name: nameOf(id), team_id: teamId, ...profiles.get(id) };
        return { ok: true, user };
      }
      if (method === 'usergroups.users.list') {
        const users = groups.get(String(args.usergroup));
        return users ? { ok: true, users } : no('no_such_subteam');
      }
      const channel = channels.get(String(args.channel));
      if (!channel) return no('channel_not_found');
      return methods[method]?.(args, channel);
    },
  };
}

/** At the top of the channel, or shown there as well. */
export const standsInChannel = ({ thread_ts, ts, subtype }: Message) =>
  !thread_ts || thread_ts === ts || subtype === 'thread_broadcast';

const no = (error: string): Answer => ({ ok: false, error });

/** Validates a message's text and blocks. */
export function contentProblem(args: Arguments): string | undefined {
  if (args.markdown_text !== undefined) {
    if (args.text !== undefined || args.blocks !== undefined) return 'markdown_text_conflict';
    return String(args.markdown_text).length > LIMITS.markdown ? 'msg_too_long' : undefined;
  }
  if (args.blocks !== undefined) return blocksProblem(args.blocks);
  return args.text === undefined || args.text === '' ? 'no_text' : undefined;
}

function metadataProblem(metadata: unknown): string | undefined {
  if (metadata === undefined) return undefined;
  const { event_type, event_payload } = metadata as Record<string, unknown>;
  const right = typeof event_type === 'string' && typeof event_payload === 'object';
  return right ? undefined : 'invalid_metadata_format';
}

/**
 * A page of messages, after `cursor`, between `oldest` and `latest`, which do not count themselves unless they are `inclusive`;
 * metadata only when asked for. Source: Slack docs, "conversations.history", arguments.
 */
function page(messages: Message[], args: Arguments, maxPage: number): Answer {
  const asked = Number(args.limit ?? 100);
  if (!(asked >= 1 && asked <= 999)) return no('invalid_limit');
  const limit = Math.min(asked, maxPage);
  const start = args.cursor === undefined ? 0 : Number(String(args.cursor).replace('at:', ''));
  const oldest = Number(args.oldest ?? 0);
  const latest = Number(args.latest ?? Number.POSITIVE_INFINITY);
  const within = messages.filter(
    ({ ts }) =>
      (Number(ts) > oldest && Number(ts) < latest) ||
      (args.inclusive === 'true' && [oldest, latest].includes(Number(ts))),
  );
  const end = start + limit;
  const more = end < within.length;
  return {
    ok: true,
    messages: within.slice(start, end).map(({ metadata, called, locked, ...message }) => ({
      type: 'message',
      ...message,
      ...(args.include_all_metadata === 'true' && metadata ? { metadata } : {}),
    })),
    has_more: more,
    response_metadata: { next_cursor: more ? `at:${end}` : '' },
  };
}
