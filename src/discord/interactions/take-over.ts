import {
  type APIInteraction,
  type APIMessage,
  ButtonInteraction,
  ChatInputCommandInteraction,
  type Client,
  ComponentType,
  type GuildMember,
  InteractionType,
  MessageFlags,
  ModalSubmitInteraction,
  RESTJSONErrorCodes,
  type RESTPatchAPIChannelMessageJSONBody,
} from 'discord.js';
import { askAboutCommand } from '../../bot/commands/ask-about.ts';
import type { Invocation, TakenOver } from '../../bot/shared/invocation.ts';
import { hasCode, isDeleted } from '../api/errors.ts';
import type { Guilds } from '../api/guilds.ts';
import type { Interaction, SubmittedForm } from '../api/interaction.ts';
import { carryOutAbout } from './ask-about.ts';
import { carryOutPress } from './buttons.ts';
import { carryOutForm } from './forms.ts';
import type { Handling, InteractionContext, Origin } from './interaction-context.ts';
import { isOver } from './interactions.ts';
import { mayOpenThread, replyTo } from './messages.ts';
import { carryOut } from './slash-commands.ts';

/** What is needed besides to go on with what another process has left. */
interface TakingOver {
  context: InteractionContext;
  client: Client;
  guilds: Guilds;
  decryptToken: (encrypted: string, invocation: string) => string | undefined;
}

/**
 * Has handled what another process has heard and not done, and shows what comes of it, as if it had come here: an interaction is
 * one of discord.js again, with what its person may do now. Once Discord takes no more for it, what all may see is a message in its channel.
 * Throws what the calls throw.
 */
export async function takeOver(
  taking: TakingOver,
  { invocation, dispatch }: TakenOver,
): Promise<void> {
  const { origin } = invocation;
  const bot = { ...taking.context.bot, dispatch };
  const with_ = { ...taking, context: { ...taking.context, bot } };
  if (origin?.kind === 'message') await takeOverMessage(with_, invocation, origin);
  else if (origin?.kind === 'interaction') await takeOverInteraction(with_, invocation, origin);
}

async function takeOverMessage(taking: TakingOver, invocation: Invocation, origin: Origin) {
  const { context, client } = taking;
  const { id = '', channel: channelId = '', above } = origin;
  const { place, thread, person } = invocation;
  const member = await standIn(taking, origin, person.id);
  const channel = client.channels.cache.get(channelId);
  const isText = channel?.isTextBased() === true;
  const here = () =>
    member && channel && 'permissionsFor' in channel ? channel.permissionsFor(member) : null;
  const said = {
    id,
    channelId,
    name: person.name,
    // A message is in a text channel of a client that is connected.
    mayOpenThread: !isText || mayOpenThread({ channel, client: client as Client<true> } as never),
  };
  const isDirect = origin.guild === undefined;
  const rights = context.rightsOf({ user: person.id, member, here, isDirect });
  await replyTo(
    { ...context, said },
    { place, thread, ...(above !== undefined && { above }) },
    { ...invocation, person: { ...person, ...rights } },
  );
}

async function takeOverInteraction(taking: TakingOver, invocation: Invocation, origin: Origin) {
  const { context } = taking;
  const { request } = invocation;
  if (!('command' in request)) return;
  const interaction = await interactionOf(taking, invocation, origin);
  interaction.deferred = true;
  interaction.ephemeral = origin.ephemeral === 'true';
  const handling: Handling = { ...context, interaction };
  if (isOver(handling)) showInChannel(handling);
  const { command, values } = request;
  if (interaction instanceof ButtonInteraction) {
    await carryOutPress({ ...context, interaction }, request);
  } else if (interaction instanceof ModalSubmitInteraction && command === askAboutCommand.name) {
    const { about } = invocation;
    const asked = { values, about, message: about?.id ?? '', acknowledgement: 'before' } as const;
    await carryOutAbout({ ...context, interaction }, asked);
  } else if (interaction instanceof ModalSubmitInteraction) {
    await carryOutForm({ ...context, interaction }, command, values, 'before');
  } else {
    const { ephemeral } = interaction;
    const acknowledgement = 'before';
    await carryOut({ ...context, interaction }, { command, values, ephemeral, acknowledgement });
  }
}

/** What is sent through it goes to the channel instead, and what is changed is changed there, unless one person is to see it. */
function showInChannel({ api, log, interaction }: Handling): void {
  const { id, channelId: channel } = interaction;
  let sent = 0;
  async function send({
    flags = 0,
    files: _none,
    ...message
  }: {
    flags?: number;
    files?: unknown;
  }) {
    if (interaction.ephemeral || (flags & MessageFlags.Ephemeral) !== 0) {
      log.info({ channel }, 'can no longer show a private reply');
      return { id: '' };
    }
    sent += 1;
    return await api.send(channel, { ...message, flags, nonce: `${sent}-${id}` });
  }
  const changing =
    (message: string) =>
    ({ content, embeds, components }: RESTPatchAPIChannelMessageJSONBody) =>
      api.edit(channel, message, { content, embeds, components });
  // The reply to a press is the message with the button.
  const editReply = interaction.isButton() ? changing(interaction.message.id) : send;
  const deleteReply = async () => {};
  Object.assign(interaction, { editReply, followUp: send, deleteReply });
}

/** An interaction as discord.js would have made it. */
async function interactionOf(
  taking: TakingOver,
  { id: invocation, person, pressed }: Invocation,
  origin: Origin,
): Promise<ChatInputCommandInteraction | ButtonInteraction | SubmittedForm> {
  const { context, client } = taking;
  const { id = '', channel = '', guild, application, under } = origin;
  const type = Number(origin.type) as Interaction['type'];
  const token = taking.decryptToken(origin.token ?? '', invocation) ?? '';
  const member = await standIn(taking, origin, person.id);
  const here = client.channels.cache.get(channel);
  const permissionsOf = (of: GuildMember | null | undefined) =>
    of && here && 'permissionsFor' in here ? here.permissionsFor(of)?.bitfield : undefined;
  const ours = permissionsOf(member?.guild.members.me) ?? 0n;
  const { username = person.name, globalName = person.name } = member?.user ?? {};
  const user = {
    ...{ id: person.id, username, global_name: globalName },
    ...{ discriminator: '0', avatar: null },
  };
  const data = {
    id,
    type,
    token,
    application_id: application,
    channel: { id: channel, type: here?.type },
    ...(guild === undefined
      ? { user }
      : {
          guild_id: guild,
          member: {
            ...{ user, roles: [...(member?.roles.cache.keys() ?? [])] },
            nick: member ? member.nickname : person.name,
            ...{ permissions: String(permissionsOf(member) ?? 0n), flags: 0 },
          },
        }),
    app_permissions: String(ours),
    entitlements: [],
    authorizing_integration_owners: {},
    ...(pressed !== undefined && {
      message:
        under === 'ephemeral'
          ? bare(pressed, channel, MessageFlags.Ephemeral)
          : await context.api.message(channel, pressed).catch((error: unknown) => {
              if (!isDeleted(error)) throw error;
              return bare(pressed, channel);
            }),
    }),
    data: {
      ...{ id, name: 'taken over', type: 1 },
      ...{ custom_id: '', component_type: ComponentType.Button, components: [] },
    },
  };
  const Made =
    type === InteractionType.MessageComponent
      ? ButtonInteraction
      : type === InteractionType.ModalSubmit
        ? ModalSubmitInteraction
        : ChatInputCommandInteraction;
  // discord.js makes them of what a connection brought, and does not offer it.
  return Reflect.construct(Made, [client, data as unknown as APIInteraction]) as
    | ChatInputCommandInteraction
    | ButtonInteraction
    | SubmittedForm;
}

/** A message of which nothing else is known. */
const bare = (id: string, channel_id: string, flags = 0): Partial<APIMessage> => ({
  ...{ id, channel_id, flags, content: '' },
  ...{ embeds: [], components: [], attachments: [], mentions: [] },
});

/** Has the place known to the client; gives the person as a member of the server, if they still are. */
async function standIn(
  { client, guilds }: TakingOver,
  { channel = '', guild: id }: Origin,
  user: string,
): Promise<GuildMember | null> {
  const guild = id === undefined ? undefined : await guilds.get(id);
  // An archived thread is not told of with the server.
  if (guild && !client.channels.cache.has(channel)) {
    await client.channels.fetch(channel).catch((error: unknown) => {
      if (!hasCode(error, RESTJSONErrorCodes.UnknownChannel, RESTJSONErrorCodes.MissingAccess))
        throw error;
    });
  }
  if (!guild) return null;
  try {
    return await guild.members.fetch({ user, force: true });
  } catch (error) {
    const { UnknownMember, UnknownUser } = RESTJSONErrorCodes;
    if (hasCode(error, UnknownMember, UnknownUser)) return null;
    throw error;
  }
}
