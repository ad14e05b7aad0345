import type { Call, Fault, SlackFake } from '../../fakes/slack/slack.ts';
import type { Message } from '../../fakes/slack/workspace.ts';
import type { FaultKind, FaultyCall, StormPlatform } from './alert-storm.ts';
import type { AlertMessage } from './alert-verdict.ts';

const METHODS: Record<FaultyCall, string> = {
  post: 'chat.postMessage',
  edit: 'chat.update',
  history: 'conversations.history',
};

const FAULT_OF: Record<FaultKind, Fault> = {
  limited: { kind: 'limited', retryAfterSeconds: 1 },
  'error, not done': { kind: 'status', status: 500 },
  'error, done': { kind: 'status', status: 503, stored: true },
  'lost, not done': { kind: 'drop' },
  'lost, done': { kind: 'drop', stored: true },
  'no answer, not done': { kind: 'hang' },
  'no answer, done': { kind: 'hang', stored: true },
};

interface Block {
  type: string;
  text?: { text: string };
  elements?: Array<{ text?: string; elements?: Part[] }>;
}
interface Part {
  type: string;
  text?: string;
  fallback?: string;
  style?: { bold?: boolean };
}

const idOf = (metadata: unknown) =>
  String((metadata as Message['metadata'])?.event_payload.id ?? '');
const withoutTone = (title: string) => title.replace(/^[^\p{L}\p{N}]+/u, '');

function titleOf(blocks: unknown): string {
  const header = (blocks as Block[]).find(({ type }) => type === 'header');
  return withoutTone(header?.text?.text ?? '');
}

/** Facts stand as a bold label with its colon, and the value after it. */
function factsOf(blocks: unknown): AlertMessage['facts'] {
  const parts = (blocks as Block[]).flatMap(({ type, elements = [] }) =>
    type === 'rich_text' ? elements.flatMap((section) => section.elements ?? []) : [],
  );
  return parts.flatMap(({ style, text = '' }, at) => {
    const next = parts[at + 1];
    const label = text.trim().replace(/:$/, '');
    return style?.bold ? [{ label, value: next?.text ?? next?.fallback ?? '' }] : [];
  });
}

function footerOf(blocks: unknown): string {
  const context = (blocks as Block[]).find(({ type }) => type === 'context');
  return context?.elements?.[0]?.text ?? '';
}

const isUnder = ({ ts, thread_ts }: Message) => thread_ts !== undefined && thread_ts !== ts;

function alertOf(
  { ts, blocks, metadata }: Message,
  { calls, messages }: { calls: readonly Call[]; messages: readonly Message[] },
): AlertMessage {
  const id = idOf(metadata);
  const shown = calls.filter(
    ({ method, args, applied }) =>
      applied &&
      ((method === METHODS.post && idOf(args.metadata) === id) ||
        (method === METHODS.edit && args.ts === ts)),
  );
  return {
    id,
    title: titleOf(blocks),
    facts: factsOf(blocks),
    footer: footerOf(blocks),
    titles: shown.map(({ args }) => titleOf(args.blocks)),
    lines: messages.filter((one) => isUnder(one) && one.thread_ts === ts).length,
  };
}

/** A fake of Slack as alerts are judged on it. */
export function slackStorm(slack: SlackFake): StormPlatform {
  let presses = 0;
  return {
    name: 'slack',
    env: {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.apiUrl,
    },
    addChannel: (name) => slack.addChannel({ id: `C00${name.toUpperCase()}` }).id,
    fail: (call, kind) => slack.fail(METHODS[call], FAULT_OF[kind]),
    killed: slack.killed,
    faulted: () =>
      slack.calls.filter(({ outcome }) => ['429', 'status', 'drop', 'hang'].includes(outcome))
        .length,
    count: (call) => slack.calls.filter(({ method }) => method === METHODS[call]).length,
    alerts(channel) {
      const told = { calls: slack.calls, messages: slack.channel(channel).messages };
      return slack.messages(channel).map((message) => alertOf(message, told));
    },
    lines: (channel) =>
      slack
        .channel(channel)
        .messages.filter(isUnder)
        .map(({ metadata }) => idOf(metadata)),
    press(channel, label) {
      presses += 1;
      const user = `U00PRESSES${presses}`;
      let isAcknowledged = false;
      void slack.press(label, { channel, user }).then(({ ms }) => {
        isAcknowledged = ms !== undefined;
      });
      return {
        isAcknowledged: () => isAcknowledged,
        notes: () => slack.whispers(channel, user),
      };
    },
  };
}
