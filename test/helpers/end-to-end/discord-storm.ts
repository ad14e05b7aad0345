import type { DiscordFake } from '../../fakes/discord/discord.ts';
import type { Fault, RestRequest } from '../../fakes/discord/http.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import type { FaultKind, FaultyCall, StormPlatform } from './alert-storm.ts';
import type { AlertMessage } from './alert-verdict.ts';

const CALLED: Record<FaultyCall, Pick<Fault, 'method' | 'path'> & { path: RegExp }> = {
  post: { method: 'POST', path: /^\/channels\/\d+\/messages$/ },
  edit: { method: 'PATCH', path: /^\/channels\/\d+\/messages\/\d+$/ },
  history: { method: 'GET', path: /^\/channels\/\d+\/messages$/ },
};

const FAULT_OF: Record<Exclude<FaultKind, 'limited'>, Fault> = {
  'error, not done': { status: 500 },
  'error, done': { status: 502, applied: true },
  'lost, not done': { drop: true },
  'lost, done': { drop: true, applied: true },
  'no answer, not done': { hang: true },
  'no answer, done': { hang: true, applied: true },
};

interface Embed {
  title?: string;
  fields?: Array<{ name: string; value: string }>;
  footer?: { text: string };
}

const embedOf = (embeds: unknown) => ((embeds as Embed[] | undefined)?.[0] ?? {}) as Embed;

function alertOf(
  message: FakeMessage,
  { requests, messages }: { requests: readonly RestRequest[]; messages: readonly FakeMessage[] },
): AlertMessage {
  const { id, nonce = '', embeds, channel_id: channel } = message;
  const taken = requests.filter(({ applied }) => applied);
  // Another one with its nonce is answered with the message as it is.
  const first = taken.find(({ method, body }) => method === 'POST' && body?.nonce === nonce);
  const edits = taken.filter(
    ({ method, path }) => method === 'PATCH' && path === `/channels/${channel}/messages/${id}`,
  );
  const shown = [...(first ? [first] : []), ...edits];
  const { title = '', fields = [], footer } = embedOf(embeds);
  return {
    id: nonce,
    title,
    facts: fields.map(({ name, value }) => ({ label: name, value })),
    footer: footer?.text ?? '',
    titles: shown.map(({ body }) => embedOf(body?.embeds).title ?? ''),
    lines: messages.filter((one) => one.message_reference?.message_id === id).length,
  };
}

/** A fake of Discord as alerts are judged on it. */
export function discordStorm(discord: DiscordFake): StormPlatform {
  // A line under an alert is a reply without a card.
  const isAlert = ({ embeds }: FakeMessage) => embeds.length > 0;
  return {
    name: 'discord',
    env: {
      DISCORD_TOKEN: discord.settings.token,
      DISCORD_GUILD_ID: discord.guildId,
      DISCORD_API_URL: discord.api,
    },
    addChannel: (name) => discord.addChannel({ name }).id,
    fail(call, kind) {
      if (kind === 'limited') discord.rateLimit({ ...CALLED[call], seconds: 1 });
      else discord.fail({ ...CALLED[call], ...FAULT_OF[kind] });
    },
    killed: discord.killed,
    faulted: () =>
      discord.requests.filter(({ status = 500 }) => status === 429 || status >= 500).length,
    count: (call) =>
      discord.requests.filter(
        ({ method, path }) => method === CALLED[call].method && CALLED[call].path.test(path),
      ).length,
    alerts(channel) {
      const messages = discord.channel(channel);
      const told = { requests: discord.requests, messages };
      return messages.filter(isAlert).map((message) => alertOf(message, told));
    },
    lines: (channel) =>
      discord
        .channel(channel)
        .filter((message) => !isAlert(message))
        .map(({ nonce = '' }) => nonce),
    press(channel, label) {
      const has = ({ components }: FakeMessage) =>
        components.some((row) => row.components.some((one) => one.label === label));
      const message = discord.channel(channel).findLast(has);
      if (!message) throw new Error(`No message in ${channel} shows a button ${label}.`);
      const press = discord.press(message, label);
      return {
        isAcknowledged: () => press.acknowledged !== undefined,
        notes: () => press.followUps.map(({ content }) => content),
      };
    },
  };
}
