/** A message as the person who looks at it sees it. */
interface Shown {
  ts: string;
  text: string;
  blocks?: unknown;
  thread_ts?: string;
}

/** A press, and where Slack takes what it is answered with. */
interface Press {
  shown: Shown;
  /** Only this person sees the message. */
  ephemeral: boolean;
  /** The message has replies. */
  replied: boolean;
  label: string;
  channel: string;
  user: string;
  botUserId: string;
  teamId: string;
  responseUrl: string;
  /** The number of earlier gestures. */
  count: number;
}

interface Button {
  type: string;
  action_id: string;
  text: { text: string };
  value?: string;
  url?: string;
}

/** Slack's own pair of buttons. */
interface FeedbackButtons extends Pick<Button, 'type' | 'action_id'> {
  positive_button: Pick<Button, 'text' | 'value'>;
  negative_button: Pick<Button, 'text' | 'value'>;
}

function buttonsOf({ blocks }: { blocks?: unknown }): Button[] {
  const all = (blocks ?? []) as { type: string; elements?: Array<Button | FeedbackButtons> }[];
  return all
    .filter(({ type }) => type === 'actions' || type === 'context_actions')
    .flatMap(({ elements = [] }) => elements)
    .flatMap((element) => {
      if (!('positive_button' in element)) return [element];
      const { type, action_id, positive_button, negative_button } = element;
      return [positive_button, negative_button].map((one) => ({ type, action_id, ...one }));
    });
}

/** The buttons that a message shows, in their order. */
export const labelsOf = (message: { blocks?: unknown }) =>
  buttonsOf(message).map(({ text }) => text.text);

/**
 * The payload of a button press. It lacks ephemeral messages; a message with replies is its own thread. Source: Slack docs,
 * "block_actions payload".
 */
export function pressPayload(press: Press): Record<string, unknown> {
  const { shown, ephemeral, replied, label, channel, user, count } = press;
  const button = buttonsOf(shown).find(({ text }) => text.text === label);
  if (!button) throw new Error(`The message shows no button ${label}.`);
  const thread = shown.thread_ts ?? (replied ? shown.ts : undefined);
  const inThread = thread === undefined ? {} : { thread_ts: thread };
  return {
    type: 'block_actions',
    user: { id: user, username: nameOf(user), name: nameOf(user), team_id: press.teamId },
    api_app_id: 'A00FAKE',
    token: 'fake-verification-token',
    container: {
      type: 'message',
      message_ts: shown.ts,
      channel_id: channel,
      is_ephemeral: ephemeral,
      ...inThread,
    },
    trigger_id: `${count}.00.fake`,
    team: { id: press.teamId, domain: 'fake' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: channel, name: 'general' },
    ...(ephemeral
      ? {}
      : {
          message: {
            type: 'message',
            user: press.botUserId,
            bot_id: 'B00ASKWATCH',
            ts: shown.ts,
            text: shown.text,
            blocks: withIds(shown.blocks),
            ...inThread,
          },
        }),
    state: { values: {} },
    response_url: press.responseUrl,
    actions: [
      {
        type: button.type,
        action_id: button.action_id,
        block_id: 'b1',
        text: { type: 'plain_text', text: label, emoji: false },
        value: button.value,
        url: button.url,
        action_ts: `${Math.floor(Date.now() / 1000)}.${String(count).padStart(6, '0')}`,
      },
    ],
  };
}

/** Slack names the blocks that an app gave no name. */
const withIds = (blocks: unknown) =>
  Array.isArray(blocks)
    ? blocks.map((block, at) => ({ block_id: `made-by-slack-${at}`, ...block }))
    : blocks;

/** The handle of a person of the fake: `U00ADA` is ada. */
export const nameOf = (user: string) => user.slice(3).toLowerCase();
