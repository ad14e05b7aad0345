import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import type { AtEnd } from '../../helpers/temporary-folder.ts';
import { createTooEarly } from '../too-early.ts';
import { argumentsProblem } from './arguments.ts';
import { labelsOf, nameOf, pressPayload } from './buttons.ts';
import { createSlackClock, type SlackClock } from './clock.ts';
import {
  ACK_WITHIN_MS,
  type Ack,
  createSocketDeliveries,
  type Delivery,
  deliverHttp,
  sendSigned,
} from './deliveries.ts';
import { createFiles, type FilesFake, type SentFile } from './files.ts';
import { createForms, formPayload, type ShownForm } from './forms.ts';
import { createHomes, type HomeFake } from './home.ts';
import { shownText } from './limits.ts';
import { createStreams, type StreamsFake } from './streams.ts';
import { createTiers } from './tiers.ts';
import { createUploads } from './uploads.ts';
import {
  type Answer,
  type Arguments,
  type Channel,
  contentProblem,
  createWorkspace,
  type Ephemeral,
  type Message,
  standsInChannel,
  type Workspace,
} from './workspace.ts';

/** A fault of a call; with `stored` Slack carried it out. */
export type Fault =
  | { kind: 'limited'; retryAfterSeconds: number }
  | { kind: 'error'; error: string }
  | { kind: 'status'; status: number; stored?: boolean }
  | { kind: 'hang'; stored?: boolean }
  | { kind: 'drop'; stored?: boolean };

/** A call of the Web API, as it came and as it was answered. */
export interface Call {
  method: string;
  args: Arguments;
  atMs: number;
  /** Slack's error code, the HTTP status, or `ok`. */
  outcome: string;
  /** It took effect, whatever was answered. */
  applied: boolean;
}

/** A fake Slack workspace with the app installed. */
export interface SlackFake
  extends Pick<Workspace, 'botUserId' | 'scopes' | 'profiles' | 'groups' | 'addChannel'>,
    Pick<StreamsFake, 'sessions' | 'words' | 'prompts' | 'expireStreams'> {
  apiUrl: string;
  botToken: string;
  appToken: string;
  signingSecret: string;
  calls: Call[];
  /** Slack's time for its limits. */
  clock: SlackClock;
  /** Methods that were called and do not exist. Has to stay empty. */
  unhandled: string[];
  acks: Ack[];
  /** Types a slash command; resolves to the app's acknowledgement. */
  slash(
    command: string,
    text: string,
    where?: Where & { userName?: string; channelName?: string },
  ): Promise<Ack>;
  /** Writes a message, as typed; people are mentioned as `<@U…>`. Gives its ts at once, before it is delivered. */
  say(
    text: string,
    where?: Where & { threadTs?: string; edited?: boolean; files?: readonly SentFile[] },
  ): string;
  /** `say`, with a mention of the bot in front. */
  mention(text: string, where?: Where & { threadTs?: string; files?: readonly SentFile[] }): string;
  /** The files that people send. */
  files: FilesFake;
  /**
   * Presses a button as it is shown now: under the newest message that shows one with this label, or under the one named.
   * Resolves to the app's acknowledgement.
   */
  press(label: string, where?: Where & { ts?: string }): Promise<Ack>;
  /** Chooses a shortcut of the app from the menu of a message; resolves to the app's acknowledgement. */
  chooseFor(ts: string, callbackId: string, where?: Where): Promise<Ack>;
  /** The Home tab of the app, as each person sees it. */
  home: HomeFake;
  /** The form that stands open. */
  form(): ShownForm | undefined;
  /** Chooses an option, which the app receives. */
  choose(name: string, value: string): Promise<void>;
  /** Lets the three seconds pass within which a gesture opens a form. */
  expireTriggers(): void;
  /** Fills it in and sends it; it stays open when the app finds something wrong. */
  submit(values: Record<string, string>): Promise<Ack>;
  /** Presses Slack's own Stop in a thread where the bot is at work. */
  pressSlackStop(channel: string, thread: string): Promise<Ack>;
  /** From now on the app subscribes to no `agent_session_stopped`. */
  dropStopEvents(): void;
  /** Delivers any payload of a press, such as one that no button of ours sends. */
  interact(payload: Record<string, unknown>): Promise<Ack>;
  /** Delivers any event, such as one of another subtype. */
  event(event: Record<string, unknown>): Promise<Ack>;
  /** Tells that events are left out, since there were too many. */
  leaveOutEvents(): Promise<Ack>;
  /** Sends any text over every connection. */
  frame(text: string): void;
  /** Sends any body over HTTP, signed. Gives the status of the answer. */
  sendSigned(body: string, contentType: string, secret?: string): Promise<number>;
  /** Delivers again what was delivered last, as Slack does when it missed the acknowledgement. */
  redeliver(): Promise<Ack>;
  /** Requests over HTTP are signed this far in the future. */
  aheadSeconds: number;
  /** Slack takes an acknowledgement for missing after this time. */
  ackWithinMs: number;
  /** Which of the two events of a mention comes first. */
  mentionFirst: boolean;
  channel(id: string): Channel;
  /** Messages at the top of a channel, oldest first. */
  messages(channel: string): Message[];
  /** Messages in a channel, oldest first, with replies that were sent there, too. */
  inChannel(channel: string): Message[];
  /** Deletes a message. */
  remove(channel: string, ts: string): void;
  /** Unarchives a channel. */
  unarchive(channel: string): void;
  /** Invites the bot, or somebody else, to a channel. */
  invite(channel: string, user?: string): void;
  /** The replies of a thread, oldest first. */
  thread(channel: string, ts: string): Message[];
  /** Private messages of one person. */
  whispers(channel: string, user?: string): string[];
  /** The next calls of a method go wrong. */
  fail(method: string, fault: Fault, options?: { times?: number; channel?: string }): void;
  /** Removes all faults. */
  recover(): void;
  /** From now on no call with this token is answered but with this error. */
  revoke(token: 'bot' | 'app', error?: string): void;
  /** The app is installed, again or for the first time: from now on it has another token, which this gives. */
  grant(): string;
  /** Tells every connection to go, as Slack does when it moves them. */
  disconnect(
    reason?: 'refresh_requested' | 'warning' | 'link_disabled' | 'too_many_websockets',
  ): void;
  /** Cuts every connection without a word. */
  cut(): void;
  /** To be called when the app was killed, before it is started again. */
  killed(): void;
  sockets(): number;
  /** From now on deliveries go to this address instead of the sockets. */
  useHttp(url: string): void;
}

interface Where {
  channel?: string;
  user?: string;
}

/** A response address; `original` is the message with the pressed button. */
interface ResponseAddress {
  channel: string;
  user: string;
  left: number;
  untilMs: number;
  original?: Message | Ephemeral;
}

/** The person and the channel when none are named. */
export const USER = 'U00ADA';
export const CHANNEL = 'C00GENERAL';

/** Source: Slack docs, "Handling user interaction", "Message responses". */
const RESPONSES = 5;
const RESPONSES_WITHIN_MS = 30 * 60_000;

/** Waits before an event comes again. Source: Slack docs, "Events API", "Error handling", "Retries". */
const RETRY_AFTER_MS = [0, 60_000, 5 * 60_000];

/** One workspace of several that the same app is installed in; by itself, the only one. */
export interface FakeTeam {
  teamId: string;
  botUserId: string;
  /** The connections of the app, over which all of them deliver. */
  deliveries?: ReturnType<typeof createSocketDeliveries>;
}

/**
 * Starts the fake on a free port; it ends with the test, or as `atEnd` says. Without `limits` it accepts any number of calls.
 * All processes of an app respect a limit within `heardMs`. A `distributed` app isn't in Slack's Marketplace, so it may rarely
 * read messages.
 */
export async function startSlack(
  atEnd: AtEnd = onTestFinished,
  {
    limits = true,
    distributed = false,
    teamId = 'T00FAKE',
    botUserId = 'U00ASKWATCH',
    deliveries = createSocketDeliveries(),
    heardMs,
  }: { limits?: boolean; distributed?: boolean; heardMs?: number } & Partial<FakeTeam> = {},
): Promise<SlackFake> {
  const clock = createSlackClock();
  const tiers = limits ? createTiers(clock, { distributed }) : undefined;
  const workspace = createWorkspace({ teamId, botUserId, distributed });
  workspace.addChannel({ id: CHANNEL });
  const forms = createForms();
  const streams = createStreams(workspace);
  const uploads = createUploads(workspace, () => `http://${address}`);
  const tokens = { bot: 'xoxb-fake-bot-token-1234', app: 'xapp-fake-app-token-1234' };
  const signingSecret = 'fake-signing-secret';
  const files = createFiles({
    teamId,
    address: () => address,
    token: () => tokens.bot,
    scopes: workspace.scopes,
  });
  const refused = new Map<string, string>();
  const faults: { method: string; fault: Fault; left: number; channel: string | undefined }[] = [];
  const responses = new Map<string, ResponseAddress>();
  const calls: Call[] = [];
  const unhandled: string[] = [];
  const acks: Ack[] = [];
  let httpUrl: string | undefined;
  let last: Delivery | undefined;
  let gestures = 0;
  /** The person who typed last and has the form open. */
  let formUser = { id: USER, name: nameOf(USER), team_id: teamId };
  let address = '';

  const server = createServer((request, response) => void serve(request, response));
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (websocket) => deliveries.accept(websocket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const over = new AbortController();
  const tooEarly = createTooEarly(heardMs);
  atEnd(async () => {
    over.abort();
    for (const socket of deliveries.sockets) socket.terminate();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    tooEarly.check();
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (files.serve(request, response)) return;
    const bytes = await readAll(request);
    const path = request.url ?? '';
    if (path.startsWith('/upload/')) return upload(request, response, bytes);
    const args = readBody(bytes.toString(), request.headers['content-type'] ?? '');
    if (path.startsWith('/response/')) return answer(response, respond(path, args));
    const method = path.replace('/api/', '');
    const call: Call = { method, args, atMs: performance.now(), outcome: 'ok', applied: false };
    calls.push(call);
    const retryAfterSeconds = tiers?.retryAfterSeconds({ method, channel: args.channel });
    const fault: Fault | undefined =
      retryAfterSeconds === undefined
        ? takeFault(method, args)
        : { kind: 'limited', retryAfterSeconds };
    // Posts are limited by channel, everything else by workspace. Source: Slack docs, "Rate limits".
    const kind = method === 'chat.postMessage' ? `${method} ${args.channel}` : method;
    // Real time, since a busy machine lets it pass even if a test stopped Slack's.
    if (clock.runs()) tooEarly.came(kind);
    if (fault?.kind === 'limited') {
      call.outcome = '429';
      tooEarly.limited(kind, fault.retryAfterSeconds);
      response.writeHead(429, { 'retry-after': String(fault.retryAfterSeconds) }).end();
      return;
    }
    const result =
      fault?.kind === 'error'
        ? { ok: false, error: fault.error }
        : !fault || ('stored' in fault && fault.stored)
          ? run(method, args, request.headers)
          : undefined;
    call.applied = result?.ok === true;
    call.outcome = fault && fault.kind !== 'error' ? fault.kind : (result?.error ?? 'ok');
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'drop') return void request.socket.destroy();
    if (fault?.kind === 'status')
      return void response.writeHead(fault.status).end('upstream error');
    answer(response, { status: 200, body: result });
  }

  /** The bytes of a file, which come to an address of their own, without the token. */
  function upload(request: IncomingMessage, response: ServerResponse, bytes: Buffer) {
    const { url = '', headers } = request;
    const method = 'upload';
    const call: Call = { method, args: {}, atMs: performance.now(), outcome: 'ok', applied: false };
    calls.push(call);
    if (headers.authorization !== undefined) unhandled.push('upload with a token');
    const fault = takeFault(method, {});
    if (fault?.kind === 'drop') return void request.socket.destroy();
    const status = fault?.kind === 'status' ? fault.status : uploads.upload(url, bytes);
    call.applied = status === 200;
    call.outcome = status === 200 ? 'ok' : `http_${status}`;
    response.writeHead(status).end(status === 200 ? 'OK - 1' : 'failed');
  }

  function answer(response: ServerResponse, { status, body }: { status: number; body: unknown }) {
    const headers = {
      'content-type': 'application/json',
      'x-oauth-scopes': [...workspace.scopes].join(','),
    };
    response.writeHead(status, headers).end(JSON.stringify(body));
  }

  function takeFault(method: string, args: Arguments): Fault | undefined {
    const found = faults.find(
      (entry) =>
        entry.left > 0 &&
        entry.method === method &&
        (entry.channel === undefined || entry.channel === args.channel),
    );
    if (found) found.left -= 1;
    return found?.fault;
  }

  function run(method: string, args: Arguments, headers: IncomingHttpHeaders): Answer {
    const { authorization = '', host = address } = headers;
    const token = authorization.replace(/^Bearer ?/, '');
    const wanted = method === 'apps.connections.open' ? tokens.app : tokens.bot;
    const refusal = refused.get(token);
    if (refusal) return { ok: false, error: refusal };
    if (token === '') return { ok: false, error: 'not_authed' };
    if (token !== tokens.bot && token !== tokens.app) return { ok: false, error: 'invalid_auth' };
    if (token !== wanted) return { ok: false, error: 'not_allowed_token_type' };
    if (method === 'apps.connections.open') {
      // The address that the app knows, which may be a wire that tests can cut.
      return { ok: true, url: `ws://${host}/link?ticket=fake-ticket` };
    }
    const result =
      argumentsProblem(method, args) ??
      uploads.call(method, args) ??
      (method === 'files.info' ? files.info(args.file) : undefined) ??
      forms.call(method, args) ??
      homes.call(method, args) ??
      streams.call(method, args) ??
      workspace.call(method, args);
    if (result) return result;
    unhandled.push(method);
    return { ok: false, error: 'unknown_method' };
  }

  /** A message to a response address. Source: Slack docs, "Handling user interaction", "Message responses". */
  function respond(path: string, args: Arguments): { status: number; body: unknown } {
    const open = responses.get(path);
    if (!open || open.left === 0) return { status: 404, body: 'used_url' };
    if (clock.nowMs() > open.untilMs) return { status: 404, body: 'expired_url' };
    open.left -= 1;
    const problem = contentProblem(args);
    if (problem) return { status: 500, body: { ok: false, error: problem } };
    const target = channel(open.channel);
    const { text = '', blocks } = args as { text?: string; blocks?: unknown };
    if (open.original && args.replace_original !== false) {
      Object.assign(open.original, { text, blocks });
    } else if (args.response_type === 'in_channel') {
      const posted = workspace.say(target.id, { user: workspace.botUserId, text });
      Object.assign(posted, { blocks, bot_id: 'B00ASKWATCH' });
    } else {
      workspace.whisper(target, { user: open.user, text, blocks });
    }
    return { status: 200, body: 'ok' };
  }

  async function hand(
    delivery: Delivery,
    retry: { attempt: number; reason?: string },
  ): Promise<Ack & { status?: number }> {
    const { attempt: retryAttempt, reason: retryReason = 'http_timeout' } = retry;
    const { aheadSeconds, ackWithinMs } = fake;
    const options = { signingSecret, retryAttempt, retryReason, aheadSeconds, ackWithinMs };
    const ack = httpUrl
      ? await deliverHttp(httpUrl, delivery, options)
      : await deliveries.deliver(delivery, options);
    acks.push(ack);
    return ack;
  }

  async function deliver(delivery: Delivery, retryAttempt = 0): Promise<Ack> {
    last = delivery;
    const ack = await hand(delivery, { attempt: retryAttempt });
    if (delivery.type === 'events_api' && ack.ms === undefined) void retry(delivery, ack);
    return ack;
  }

  /** Delivers an event again that was not acknowledged in time. Commands and presses come once. */
  async function retry(delivery: Delivery, missed: { status?: number }): Promise<void> {
    let { status } = missed;
    for (const [index, afterMs] of RETRY_AFTER_MS.entries()) {
      if (!(await clock.passed(afterMs, over.signal))) return;
      const reason = status ? 'http_error' : 'http_timeout';
      const ack = await hand(delivery, { attempt: index + 1, reason });
      if (ack.ms !== undefined) return;
      status = ack.status;
    }
  }

  function event(event: Record<string, unknown>): Promise<Ack> {
    gestures += 1;
    return deliver({
      type: 'events_api',
      payload: {
        token: 'fake-verification-token',
        team_id: teamId,
        api_app_id: 'A00FAKE',
        type: 'event_callback',
        event_id: `Ev00FAKE${gestures}`,
        event_time: Math.floor(Date.now() / 1000),
        authorizations: [
          {
            enterprise_id: null,
            team_id: teamId,
            user_id: workspace.botUserId,
            is_bot: true,
            is_enterprise_install: false,
          },
        ],
        event,
      },
    });
  }

  /** Source: Slack docs, "channel_unarchive", "group_unarchive", "member_joined_channel", with their scopes. */
  function announceOpen({ id, kind }: Channel, opened: Record<string, unknown>) {
    const scope = kind === 'private' ? 'groups:read' : 'channels:read';
    if (!workspace.scopes.has(scope)) return;
    void event({ ...opened, channel: id, event_ts: `${Date.now() / 1000}` });
  }

  function channel(id: string): Channel {
    const found = workspace.channels.get(id);
    if (!found) throw new Error(`The fake has no channel ${id}.`);
    return found;
  }

  /** A new address for answers to a gesture. */
  function openResponses(to: Omit<ResponseAddress, 'left' | 'untilMs'>): string {
    const path = `/response/${gestures}`;
    responses.set(path, { ...to, left: RESPONSES, untilMs: clock.nowMs() + RESPONSES_WITHIN_MS });
    return `http://${address}${path}`;
  }

  /** A gesture that may open a form; returns its trigger. */
  function gesture(user: string): string {
    gestures += 1;
    const trigger = `${gestures}.00.fake`;
    forms.allow(trigger);
    formUser = { id: user, name: nameOf(user), team_id: teamId };
    return trigger;
  }

  const homes = createHomes({
    gesture,
    event,
    interact: (payload) => deliver({ type: 'interactive', payload }),
  });

  const fake: SlackFake = {
    apiUrl: `http://${address}/api/`,
    get botToken() {
      return tokens.bot;
    },
    grant() {
      tokens.bot = `xoxb-${teamId.toLowerCase()}-bot-token-${randomUUID()}`;
      return tokens.bot;
    },
    appToken: tokens.app,
    signingSecret,
    botUserId: workspace.botUserId,
    scopes: workspace.scopes,
    profiles: workspace.profiles,
    groups: workspace.groups,
    addChannel: workspace.addChannel,
    calls,
    killed: tooEarly.killed,
    clock,
    unhandled,
    acks,
    aheadSeconds: 0,
    ackWithinMs: ACK_WITHIN_MS,
    mentionFirst: true,
    home: homes,
    form: forms.shown,
    expireTriggers: forms.expire,
    async choose(name, value) {
      const shown = formNow(forms);
      shown.values.set(name, value);
      const view = formPayload(shown);
      const action = { type: 'static_select', block_id: name, action_id: name };
      await deliver({
        type: 'interactive',
        payload: { type: 'block_actions', user: formUser, view, actions: [action] },
      });
    },
    async submit(values) {
      const shown = formNow(forms);
      for (const [name, value] of Object.entries(values)) {
        const isThere = shown.view.blocks.some(({ block_id }) => block_id === name);
        if (!isThere) throw new Error(`The form has no input ${name}.`);
        shown.values.set(name, value);
      }
      const payload = { type: 'view_submission', user: formUser, view: formPayload(shown) };
      const ack = await deliver({ type: 'interactive', payload });
      const answer = ack.payload as { response_action?: string; errors?: Record<string, string> };
      if (answer?.response_action === 'errors') shown.errors = answer.errors ?? {};
      else forms.close();
      return ack;
    },
    slash(command, text, { channel: id = CHANNEL, user = USER, userName, channelName } = {}) {
      const trigger = gesture(user);
      return deliver({
        type: 'slash_commands',
        payload: {
          token: 'fake-verification-token',
          team_id: teamId,
          team_domain: 'fake',
          channel_id: id,
          channel_name: channelName ?? 'general',
          user_id: user,
          user_name: userName ?? nameOf(user),
          command,
          text,
          api_app_id: 'A00FAKE',
          is_enterprise_install: 'false',
          response_url: openResponses({ channel: id, user }),
          trigger_id: trigger,
        },
      });
    },
    files,
    say(typed, { channel: id = CHANNEL, user = USER, threadTs, edited, files: sent } = {}) {
      const text = written(typed);
      const message = workspace.say(id, { user, text, ...(threadTs ? { threadTs } : {}) });
      const { kind, member } = channel(id);
      if (sent) message.files = sent.map(files.keep);
      const base = {
        user,
        text,
        ts: message.ts,
        channel: id,
        event_ts: message.ts,
        team: teamId,
        ...(threadTs ? { thread_ts: threadTs } : {}),
        ...(edited ? { edited: { user, ts: message.ts } } : {}),
        ...(sent ? { files: message.files } : {}),
      };
      const shared = sent ? { subtype: 'file_share' } : {};
      const types = { public: 'channel', private: 'group', im: 'im', mpim: 'mpim' } as const;
      const events: Record<string, unknown>[] = [];
      const channel_type = types[kind];
      // The app subscribes to no messages of groups of people who write directly.
      if (member && kind !== 'mpim')
        events.push({ ...base, ...shared, type: 'message', channel_type });
      if (kind !== 'im' && text.includes(`<@${workspace.botUserId}>`)) {
        const mention = { ...base, type: 'app_mention' };
        if (fake.mentionFirst) events.unshift(mention);
        else events.push(mention);
      }
      void (async () => {
        for (const each of events) await event(each);
      })();
      return message.ts;
    },
    mention: (text, where) => fake.say(`<@${workspace.botUserId}> ${text}`, where),
    press(label, { channel: id = CHANNEL, user = USER, ts } = {}) {
      const { messages, ephemerals } = channel(id);
      const seen = [...messages, ...ephemerals.filter((shown) => shown.user === user)];
      const shown = seen
        .filter((message) =>
          ts === undefined ? labelsOf(message).includes(label) : message.ts === ts,
        )
        .at(-1);
      if (!shown) throw new Error(`No message in ${id} shows a button ${label}.`);
      gesture(user);
      return fake.interact(
        pressPayload({
          shown,
          ephemeral: ephemerals.some((one) => one.ts === shown.ts),
          replied: messages.some(({ thread_ts }) => thread_ts === shown.ts),
          label,
          channel: id,
          user,
          ...{ botUserId: workspace.botUserId, teamId },
          responseUrl: openResponses({ channel: id, user, original: shown }),
          count: gestures,
        }),
      );
    },
    chooseFor(ts, callback_id, { channel: id = CHANNEL, user = USER } = {}) {
      const found = channel(id).messages.find((message) => message.ts === ts);
      if (!found) throw new Error(`There is no message ${ts} in ${id}.`);
      const trigger_id = gesture(user);
      const {
        metadata: _metadata,
        called: _called,
        locked: _locked,
        edits: _edits,
        ...message
      } = found;
      const replies = channel(id).messages.filter(({ thread_ts }) => thread_ts === ts).length;
      return deliver({
        type: 'interactive',
        payload: {
          type: 'message_action',
          callback_id,
          trigger_id,
          message_ts: ts,
          action_ts: `${Math.floor(Date.now() / 1000)}.${String(gestures).padStart(6, '0')}`,
          team: { id: teamId, domain: 'fake' },
          user: { id: user, name: nameOf(user), username: nameOf(user), team_id: teamId },
          channel: { id, name: 'general' },
          response_url: openResponses({ channel: id, user }),
          // A message with replies names its own thread.
          message: {
            type: 'message',
            ...message,
            ...(replies > 0 && { thread_ts: ts, reply_count: replies }),
          },
        },
      });
    },
    pressSlackStop(channel, thread) {
      const streaming_message_ts = streams.stopSession(channel, thread);
      gestures += 1;
      const event_ts = `${Math.floor(Date.now() / 1000)}.${String(gestures).padStart(6, '0')}`;
      const at = { channel, thread_ts: thread, event_ts };
      return event({ type: 'agent_session_stopped', user: USER, streaming_message_ts, ...at });
    },
    dropStopEvents() {
      streams.hearsStop = false;
    },
    sessions: streams.sessions,
    words: streams.words,
    prompts: streams.prompts,
    expireStreams: streams.expireStreams,
    interact: (payload) => deliver({ type: 'interactive', payload }),
    event,
    leaveOutEvents: () =>
      deliver({
        type: 'events_api',
        payload: {
          token: 'fake-verification-token',
          type: 'app_rate_limited',
          team_id: 'T00FAKE',
          minute_rate_limited: Math.floor(Date.now() / 1000),
          api_app_id: 'A00FAKE',
        },
      }),
    frame(text) {
      for (const socket of deliveries.sockets) socket.send(text);
    },
    sendSigned(body, contentType, secret = signingSecret) {
      if (!httpUrl) throw new Error('Requests go over the socket.');
      return sendSigned(httpUrl, { body, contentType, signingSecret: secret });
    },
    redeliver() {
      if (!last) throw new Error('Nothing was delivered yet.');
      return deliver(last, 1);
    },
    channel,
    messages: (id) => channel(id).messages.filter(({ thread_ts }) => thread_ts === undefined),
    inChannel: (id) => channel(id).messages.filter(standsInChannel),
    remove: (id, ts) => workspace.remove(channel(id), ts),
    unarchive(id) {
      const opened = channel(id);
      opened.archived = false;
      const type = opened.kind === 'private' ? 'group_unarchive' : 'channel_unarchive';
      announceOpen(opened, { type, user: USER });
    },
    invite(id, user = workspace.botUserId) {
      const opened = channel(id);
      if (user === workspace.botUserId) opened.member = true;
      const channel_type = opened.kind === 'private' ? 'G' : 'C';
      const joined = { type: 'member_joined_channel', user, channel_type, team: teamId };
      announceOpen(opened, { ...joined, inviter: USER });
    },
    thread: (id, ts) => channel(id).messages.filter(({ thread_ts }) => thread_ts === ts),
    whispers: (id, user = USER) =>
      channel(id)
        .ephemerals.filter((shown) => shown.user === user)
        .map(shownText),
    fail(method, fault, { times = 1, channel: id } = {}) {
      faults.push({ method, fault, left: times, channel: id });
    },
    recover() {
      faults.length = 0;
    },
    revoke(token, error = 'token_revoked') {
      refused.set(tokens[token], error);
    },
    disconnect(reason = 'refresh_requested') {
      for (const socket of deliveries.sockets) {
        socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'fake' } }));
      }
    },
    cut() {
      for (const socket of deliveries.sockets) socket.terminate();
    },
    sockets: () => deliveries.sockets.size,
    useHttp(url) {
      httpUrl = url;
    },
  };
  return fake;
}

/** Encodes typed text as Slack does: three entities, links in angle brackets, mentions unchanged. */
function written(typed: string): string {
  return typed
    .split(/(<@U[0-9A-Z]+>)/)
    .map((part) =>
      part.startsWith('<@U')
        ? part
        : part
            .replaceAll('&', '&amp;')
            .replaceAll('<', '&lt;')
            .replaceAll('>', '&gt;')
            .replace(/https?:\/\/[^\s<>"]+/g, '<$&>')
            .replace(/(?<![\w./])[a-z0-9-]+\.(?:com|org)\b(?!>)/g, '<http://$&|$&>'),
    )
    .join('');
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const STRUCTURED = new Set([
  'files',
  'view',
  'blocks',
  'metadata',
  'attachments',
  'prompts',
  'loading_messages',
]);

/** Arguments from a form, whose structured ones are JSON inside, or from JSON. */
function readBody(body: string, type: string): Arguments {
  if (type.includes('json')) return JSON.parse(body || '{}') as Arguments;
  return Object.fromEntries(
    [...new URLSearchParams(body)].map(([name, value]) => [
      name,
      STRUCTURED.has(name) ? fromJson(value) : value,
    ]),
  );
}

/** Parses JSON; other text stays text, which is refused if an object is required. */
function fromJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function formNow(forms: ReturnType<typeof createForms>): ShownForm {
  const shown = forms.shown();
  if (!shown) throw new Error('No form stands open.');
  return shown;
}
