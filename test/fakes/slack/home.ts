import { labelsOf, nameOf } from './buttons.ts';
import type { Ack } from './deliveries.ts';
import { blocksProblem, shownText } from './limits.ts';
import type { Answer, Arguments } from './workspace.ts';

/** The person when none is named. */
const USER = 'U00ADA';

/** Source: Slack docs, "Home tab views"; "views.publish", errors. Messages alone have tables and Markdown blocks. */
const MAX_BLOCKS = 100;
const MAX_BYTES = 250_000;
const ONLY_IN_MESSAGES = ['table', 'markdown'];
const HOME_FIELDS = ['type', 'blocks', 'private_metadata', 'callback_id', 'external_id'];

interface Block {
  type: string;
  elements?: Array<{ type: string; action_id: string; value?: string; text: { text: string } }>;
}

/** A home as its person sees it. */
export interface ShownHome {
  id: string;
  hash: string;
  blocks: Block[];
  /** The number of publications. */
  times: number;
}

/** The Home tab of the app. */
export interface HomeFake {
  /** Opens the app, at one of its tabs. */
  open(who?: { user?: string; tab?: 'home' | 'messages' }): Promise<Ack>;
  shown(user?: string): ShownHome | undefined;
  /** Everything that a home shows, as one text. */
  text(user?: string): string;
  /** The buttons that it shows, in their order. */
  labels(user?: string): string[];
  /** Presses the first button with this label; `value` is one that no button of ours has. */
  press(label: string, by?: { user?: string; value?: string }): Promise<Ack>;
  /** Publishes something else, as another process of the app does. */
  replace(user: string, blocks: unknown[]): void;
}

/** Keeps one home for each person. */
export function createHomes(slack: {
  /** Returns a trigger that may open a form. */
  gesture(user: string): string;
  event(event: Record<string, unknown>): Promise<Ack>;
  interact(payload: Record<string, unknown>): Promise<Ack>;
}): HomeFake & { call(method: string, args: Arguments): Answer | undefined } {
  const homes = new Map<string, ShownHome>();
  let count = 0;

  function put(user: string, blocks: Block[]): ShownHome {
    count += 1;
    const { id = `V00HOME${count}`, times = 0 } = homes.get(user) ?? {};
    const shown = { id, hash: `${count}.home`, blocks, times: times + 1 };
    homes.set(user, shown);
    return shown;
  }

  const viewOf = ({ id, hash, blocks }: ShownHome) => ({
    ...{ id, hash, blocks, type: 'home', team_id: 'T00FAKE', callback_id: '' },
    private_metadata: '',
    state: { values: {} },
  });

  return {
    open({ user = USER, tab = 'home' } = {}) {
      const known = homes.get(user);
      return slack.event({
        type: 'app_home_opened',
        user,
        channel: `D00${user.slice(3)}`,
        tab,
        event_ts: String(Date.now() / 1000),
        ...(known && tab === 'home' ? { view: viewOf(known) } : {}),
      });
    },
    shown: (user = USER) => homes.get(user),
    text: (user = USER) => shownText({ text: '', blocks: homes.get(user)?.blocks ?? [] }),
    labels: (user = USER) => labelsOf({ blocks: homes.get(user)?.blocks ?? [] }),
    press(label, { user = USER, value } = {}) {
      const home = homes.get(user);
      const buttons = (home?.blocks ?? []).flatMap(({ elements = [] }) => elements);
      const button = buttons.find(({ type, text }) => type === 'button' && text.text === label);
      if (!home || (!button && value === undefined)) {
        throw new Error(`The home shows no button ${label}.`);
      }
      const trigger = slack.gesture(user);
      // Source: Slack docs, "block_actions payload": in a view there is no channel and no address for answers.
      return slack.interact({
        type: 'block_actions',
        user: { id: user, username: nameOf(user), name: nameOf(user), team_id: 'T00FAKE' },
        api_app_id: 'A00FAKE',
        token: 'fake-verification-token',
        container: { type: 'view', view_id: home.id },
        trigger_id: trigger,
        team: { id: 'T00FAKE', domain: 'fake' },
        enterprise: null,
        is_enterprise_install: false,
        view: viewOf(home),
        actions: [
          {
            type: 'button',
            action_id: button?.action_id ?? 'askwatch-0',
            block_id: 'b1',
            text: { type: 'plain_text', text: label, emoji: false },
            value: value ?? button?.value,
            action_ts: `${Math.floor(Date.now() / 1000)}.${trigger.split('.')[0]?.padStart(6, '0')}`,
          },
        ],
      });
    },
    replace(user, blocks) {
      put(user, blocks as Block[]);
    },
    call(method, { user_id, view, hash }) {
      if (method !== 'views.publish') return undefined;
      const user = String(user_id ?? '');
      const problem = homeProblem(view);
      if (!/^[UW][A-Z0-9]+$/.test(user) || problem) {
        return { ok: false, error: problem ?? 'invalid_arguments' };
      }
      if (hash !== undefined && hash !== homes.get(user)?.hash) {
        return { ok: false, error: 'hash_conflict' };
      }
      return { ok: true, view: viewOf(put(user, (view as { blocks: Block[] }).blocks)) };
    },
  };
}

function homeProblem(view: unknown): string | undefined {
  const { type, blocks, ...more } = (view ?? {}) as { type?: string; blocks?: Block[] };
  if (Buffer.byteLength(JSON.stringify(view ?? {})) > MAX_BYTES) return 'view_too_large';
  const isRight =
    type === 'home' &&
    Array.isArray(blocks) &&
    blocks.length <= MAX_BLOCKS &&
    Object.keys(more).every((field) => HOME_FIELDS.includes(field)) &&
    blocks.every(
      (block) => !ONLY_IN_MESSAGES.includes(block.type) && blocksProblem([block]) === undefined,
    );
  return isRight ? undefined : 'invalid_arguments';
}
