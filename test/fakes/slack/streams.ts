import { blocksProblem, calledBy, LIMITS } from './limits.ts';
import type { Answer, Arguments, Channel, Message, Workspace } from './workspace.ts';

/** A thread's agent session as Slack shows it. */
export interface AgentSession {
  status: 'active' | 'processing' | 'suspended' | 'closed';
  title?: string;
}

/** Streams of text, sessions of the agent, and suggestions: the methods, and what Slack itself does to them. */
export interface StreamsFake {
  /** By channel and thread, parted by a space. */
  sessions: Map<string, AgentSession>;
  /** Status texts by channel and thread, until there is a message or an empty status. */
  words: Map<string, string>;
  /** The lines that are suggested in each direct conversation. */
  prompts: Map<string, { title: string; message: string }[]>;
  /** The app subscribes to `agent_session_stopped`. */
  hearsStop: boolean;
  /** Ends every stream, as Slack does some five minutes after its beginning. */
  expireStreams(): void;
  /** A person presses Slack's Stop. Returns the ended streams. Throws if there is no Stop. */
  stopSession(channel: string, thread: string): string[];
  call(method: string, args: Arguments): Answer | undefined;
}

/** The most of one call and, as measured, of a whole stream. Sources: Slack docs, "chat.appendStream"; CopilotKit issue 6063. */
const MAX_CALL = 12_000;
const MAX_STREAM = 11_000;

const REQUIRED: Record<string, string[]> = {
  'chat.startStream': ['channel', 'thread_ts'],
  'chat.appendStream': ['channel', 'ts', 'markdown_text'],
  'chat.stopStream': ['channel', 'ts'],
  'agents.sessions.setStatus': ['channel_id', 'thread_ts', 'status'],
  'agents.sessions.rename': ['channel_id', 'thread_ts', 'title'],
  'assistant.threads.setStatus': ['channel_id', 'thread_ts', 'status'],
  'assistant.threads.setSuggestedPrompts': ['channel_id', 'prompts'],
};

/** Characters of a status. Source: getsentry/junior pull request 56, letta-ai/letta-code pull request 3553. */
const MAX_WORDS = 50;

const STATUSES = ['active', 'processing', 'suspended', 'closed'];
const NO_STOP = 'missing_agent_session_stopped_event_subscription';

/** Sources: Slack docs, the pages of these methods and "Agent sessions". */
export function createStreams(workspace: Workspace): StreamsFake {
  const sessions = new Map<string, AgentSession>();
  const words: StreamsFake['words'] = new Map();
  const prompts: StreamsFake['prompts'] = new Map();

  function setStatus(channel: string, thread: string, status: string, title?: string) {
    const key = `${channel} ${thread}`;
    // A title is only taken when the session is made.
    if (status !== 'processing') words.delete(key);
    const kept = sessions.get(key) ?? (title === undefined ? {} : { title });
    sessions.set(key, { ...kept, status: status as AgentSession['status'] });
  }

  function add(message: Message, args: Arguments): Answer | undefined {
    const text = String(args.markdown_text ?? '');
    if (text.length > MAX_CALL || message.text.length + text.length > MAX_STREAM) {
      return no('msg_too_long');
    }
    message.text += text;
    const shown = { text: message.text, blocks: message.blocks };
    message.called = [...new Set([...(message.called ?? []), ...calledBy(shown)])];
    return undefined;
  }

  function start(args: Arguments, channel: Channel): Answer {
    const thread = String(args.thread_ts);
    if (channel.archived) return no('is_archived');
    if (!channel.member) return no('not_in_channel');
    if (!channel.messages.some(({ ts }) => ts === thread)) return no('thread_not_found');
    for (const name of ['recipient_team_id', 'recipient_user_id']) {
      if (channel.kind !== 'im' && !args[name]) return no(`missing_${name}`);
    }
    if (String(args.markdown_text ?? '').length > MAX_STREAM) return no('msg_too_long');
    words.delete(`${channel.id} ${thread}`);
    const said = { user: workspace.botUserId, text: '', threadTs: thread };
    const message = workspace.say(channel.id, said);
    Object.assign(message, { bot_id: 'B00ASKWATCH', streaming: true });
    if (workspace.scopes.has('assistant:write')) setStatus(channel.id, thread, 'processing');
    return add(message, args) ?? { ok: true, channel: channel.id, ts: message.ts };
  }

  function append(args: Arguments, channel: Channel): Answer {
    const message = streamOf(args, channel);
    if (typeof message === 'string') return no(message);
    return add(message, args) ?? { ok: true, channel: channel.id, ts: message.ts };
  }

  function stop(args: Arguments, channel: Channel): Answer {
    const message = streamOf(args, channel);
    if (typeof message === 'string') return no(message);
    const { blocks = [], session_status: status = 'active' } = args;
    const problem = blocksProblem(blocks);
    if (problem) return no(problem);
    const refused = add(message, args);
    if (refused) return refused;
    end(message, blocks as unknown[]);
    const { thread_ts: thread = '' } = message;
    if (workspace.scopes.has('assistant:write')) setStatus(channel.id, thread, String(status));
    return { ok: true, channel: channel.id, ts: message.ts, message };
  }

  function session(method: string, args: Arguments, channel: Channel): Answer {
    const [thread, title] = [String(args.thread_ts), args.title as string | undefined];
    if (!workspace.scopes.has('assistant:write')) return no('not_authorized');
    if (!channel.messages.some(({ ts }) => ts === thread)) return no('thread_not_found');
    if (title !== undefined && (title === '' || title.length > 200)) return no('invalid_title');
    if (method.endsWith('rename')) {
      const known = sessions.get(`${channel.id} ${thread}`);
      if (!known) return no('session_not_found');
      Object.assign(known, { title });
      return { ok: true };
    }
    if (!STATUSES.includes(String(args.status))) return no('invalid_status');
    setStatus(channel.id, thread, String(args.status), title);
    const warned = args.status === 'processing' && !fake.hearsStop;
    return { ok: true, status: args.status, ...(warned && { warning: NO_STOP }) };
  }

  function say(args: Arguments, channel: Channel): Answer {
    const [thread, status] = [String(args.thread_ts), String(args.status)];
    const { loading_messages: lines = [] } = args as { loading_messages?: unknown };
    if (!workspace.scopes.has('chat:write')) return no('missing_scope');
    if (!channel.messages.some(({ ts }) => ts === thread)) return no('invalid_thread_ts');
    const areRight = Array.isArray(lines) && lines.length <= 10;
    if (!areRight || [status, ...lines].some((line) => String(line).length > MAX_WORDS)) {
      return no('invalid_arguments');
    }
    words.set(`${channel.id} ${thread}`, status);
    return { ok: true };
  }

  function suggest(args: Arguments, channel: Channel): Answer {
    if (!workspace.scopes.has('assistant:write')) {
      return { ok: false, error: 'missing_scope', needed: 'assistant:write' };
    }
    const lines = args.prompts as { title: string; message: string }[];
    if (lines.length > 4 || !lines.every(({ title, message }) => title && message)) {
      return no('invalid_arguments');
    }
    // With a thread Slack says yes and does nothing: that is for apps of the older kind.
    if (args.thread_ts === undefined) prompts.set(channel.id, lines);
    return { ok: true };
  }

  const fake: StreamsFake = {
    sessions,
    words,
    prompts,
    hearsStop: true,
    expireStreams() {
      for (const { messages } of workspace.channels.values()) {
        for (const message of messages.filter(({ streaming }) => streaming)) end(message, []);
      }
    },
    stopSession(channel, thread) {
      if (sessions.get(`${channel} ${thread}`)?.status !== 'processing' || !fake.hearsStop) {
        throw new Error(`Slack shows no Stop in ${thread}.`);
      }
      const { messages = [] } = workspace.channels.get(channel) ?? {};
      const growing = messages.filter((one) => one.streaming && one.thread_ts === thread);
      for (const message of growing) end(message, []);
      return growing.map(({ ts }) => ts);
    },
    call(method, args) {
      const required = Object.hasOwn(REQUIRED, method) ? REQUIRED[method] : undefined;
      if (!required) return undefined;
      const missing = required.filter((name) => args[name] === undefined || args[name] === '');
      if (missing.length > 0) return { ok: false, error: 'invalid_arguments', missing };
      const channel = workspace.channels.get(String(args.channel ?? args.channel_id));
      if (!channel) return no('channel_not_found');
      if (method === 'chat.startStream') return start(args, channel);
      if (method === 'chat.appendStream') return append(args, channel);
      if (method === 'chat.stopStream') return stop(args, channel);
      if (method === 'assistant.threads.setStatus') return say(args, channel);
      if (method === 'assistant.threads.setSuggestedPrompts') return suggest(args, channel);
      return session(method, args, channel);
    },
  };
  return fake;
}

/** The stream that a call is about, or what Slack says instead. */
function streamOf({ ts }: Arguments, { messages, archived }: Channel): Message | string {
  const message = messages.find((one) => one.ts === ts);
  if (!message) return 'message_not_found';
  if (archived) return 'is_archived';
  return message.streaming ? message : 'message_not_in_streaming_state';
}

/** From now on it is a message like any other, of blocks. */
function end(message: Message, under: unknown[]): void {
  message.streaming = false;
  const prose = message.text === '' ? [] : [{ type: 'markdown', text: message.text }];
  message.blocks = [...prose, ...under];
  message.text = message.text.slice(0, LIMITS.editedText);
}

const no = (error: string): Answer => ({ ok: false, error });
