import { ButtonStyle, ComponentType } from 'discord.js';
import type { AllowedMentions, FakeButton, FakeRow, MessageBody } from './state.ts';
import { uploadProblem } from './uploads.ts';

/** Discord's error response. */
export interface Refusal {
  status: number;
  code: number;
  message: string;
  /** Errors by field. */
  errors?: Record<string, unknown>;
}

/** A refusal in one line. */
export const refusal = (status: number, code: number, message: string): Refusal => ({
  status,
  code,
  message,
});

const invalid = (what: string) => refusal(400, 50_035, `Invalid Form Body: ${what}`);

const EMBED_TEXTS: Array<[path: string, max: number]> = [
  ['title', 256],
  ['description', 4_096],
];

/** Validates a posted or edited message. Source: Discord docs, "Embed Limits", "Create Message". */
export function checkMessage(body: MessageBody, kind: 'post' | 'edit'): Refusal | undefined {
  const tooMuch = uploadProblem(body.uploads ?? []);
  if (tooMuch) return tooMuch;
  if (body.attachments?.some(({ description = '' }) => description.length > 1_024)) {
    return invalid('attachments: description must be 1024 or fewer in length');
  }
  const content = body.content ?? '';
  if (content.length > 2_000) return invalid('content must be 2000 or fewer in length');
  const badMentions = wrongMentions(body.allowed_mentions);
  if (badMentions !== undefined) return invalid(badMentions);
  if (String(body.nonce ?? '').length > 25) return invalid('nonce must be 25 or fewer in length');
  const embeds = body.embeds ?? [];
  if (embeds.length > 10) return invalid('embeds must be 10 or fewer in length');
  let total = 0;
  for (const embed of embeds) {
    const texts = [...EMBED_TEXTS.map(([key, max]) => [key, embed[key], max] as const)];
    const footer = (embed.footer as { text?: string } | undefined)?.text;
    const fields = (embed.fields ?? []) as Array<{ name?: string; value?: string }>;
    if (fields.length > 25) return invalid('embed fields must be 25 or fewer in length');
    for (const [key, value, max] of [
      ...texts,
      ['footer', footer, 2_048] as const,
      ...fields.map(({ name = '' }) => ['field name', name, 256] as const),
      ...fields.map(({ value = '' }) => ['field value', value, 1_024] as const),
    ]) {
      if (value === undefined) continue;
      const text = String(value);
      if (key.startsWith('field') && text.trim() === '') return invalid(`${key} is required`);
      if (text.length > max) return invalid(`embed ${key} must be ${max} or fewer in length`);
      total += text.length;
    }
  }
  if (total > 6_000) return invalid('embed size exceeds maximum size of 6000');
  const rows = body.components ?? [];
  if (kind === 'post' && content.trim() === '' && embeds.length === 0 && rows.length === 0) {
    return refusal(400, 50_006, 'Cannot send an empty message');
  }
  const wrong = wrongRows(rows);
  return wrong === undefined ? undefined : invalid(wrong);
}

/** Source: Discord docs, "Allowed Mentions Object": what is named one by one is not also parsed. */
function wrongMentions({ parse = [], roles = [], users = [] }: AllowedMentions = {}) {
  if (roles.length > 100 || users.length > 100) return 'allowed_mentions: at most 100 ids';
  const both = (kind: string, ids: string[]) => parse.includes(kind) && ids.length > 0;
  if (both('roles', roles) || both('users', users))
    return 'allowed_mentions are mutually exclusive';
  return [...roles, ...users].every((id) => /^\d{17,20}$/.test(id))
    ? undefined
    : 'allowed_mentions: not a snowflake';
}

/** Validates buttons. Source: Discord docs, "Component Reference". */
function wrongRows(rows: FakeRow[]): string | undefined {
  if (rows.length > 5) return 'components must be 5 or fewer in length';
  if (rows.some(({ type }) => type !== ComponentType.ActionRow)) {
    return 'only action rows may be at the top level';
  }
  if (rows.some(({ components }) => components.length < 1 || components.length > 5)) {
    return 'an action row must have between 1 and 5 components';
  }
  const buttons = rows.flatMap(({ components }) => components);
  const ids = buttons.flatMap(({ custom_id }) => custom_id ?? []);
  if (new Set(ids).size < ids.length) {
    return 'component custom id cannot be duplicated';
  }
  return buttons.map(wrongButton).find((wrong) => wrong !== undefined);
}

const STYLES = [
  ButtonStyle.Primary,
  ButtonStyle.Secondary,
  ButtonStyle.Success,
  ButtonStyle.Danger,
];

function wrongButton(button: FakeButton): string | undefined {
  const { type, style, label = '', custom_id = '', url } = button;
  if (type !== ComponentType.Button) return `component type ${type} is none of this fake's`;
  if (label.length < 1 || label.length > 80) return 'label must be between 1 and 80 in length';
  if (style === ButtonStyle.Link) return wrongLink(button);
  if (!STYLES.includes(style)) return `button style ${style} is invalid`;
  if (url !== undefined) return 'a url is for link buttons only';
  if (custom_id.length < 1 || custom_id.length > 100) {
    return 'custom_id must be between 1 and 100 in length';
  }
  return undefined;
}

/** Which hosts Discord takes is not written anywhere; that it refuses some is known: `URL_TYPE_INVALID_URL`. */
function wrongLink({ custom_id, url = '' }: FakeButton): string | undefined {
  if (custom_id !== undefined) return 'a custom id and url cannot both be specified';
  if (url.length < 1 || url.length > 512) return 'url must be between 1 and 512 in length';
  if (!/^https?:/.test(url)) return 'Scheme is not supported. Scheme must be one of (http, https)';
  return URL.canParse(url) && new URL(url).hostname.includes('.')
    ? undefined
    : 'url[URL_TYPE_INVALID_URL]: Not a well formed URL.';
}

interface CommandBody {
  name: string;
  description?: string;
  type?: number;
  required?: boolean;
  options?: CommandBody[];
  choices?: Array<{ name: string; value: unknown }>;
}

const NAME = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;

/** Validates autocomplete choices. Source: Discord docs, "Application Command Option Choice". */
export function checkOffered({
  choices = [],
}: {
  choices?: Array<{ name: string; value: unknown }>;
}): Refusal | undefined {
  if (choices.length > 25) return invalid('choices must be 25 or fewer in length');
  const isFine = (text: unknown) =>
    typeof text === 'string' && text.trim().length >= 1 && text.length <= 100;
  return choices.every(({ name, value }) => isFine(name) && isFine(value))
    ? undefined
    : invalid('a choice has a name and a value of 1 to 100');
}

/** Validates registered commands. Source: Discord docs, "Application Commands". */
export function checkCommands(commands: CommandBody[]): Refusal | undefined {
  if (commands.length > 100) return refusal(400, 30_032, 'Maximum number of commands reached');
  const ofMessages = commands.filter(({ type }) => type === 3);
  if (ofMessages.length > 15) return refusal(400, 30_032, 'Maximum number of commands reached');
  for (const command of commands) {
    const problem = command.type === 3 ? checkOfMessage(command) : checkNode(command);
    if (problem) return invalid(`/${command.name}: ${problem}`);
    if (textOf(command) > 8_000) return invalid(`/${command.name}: more than 8000 characters`);
  }
  return undefined;
}

/** Source: Discord docs, "Application Commands", "Application Command Naming": spaces and capitals are fine here. */
function checkOfMessage({ name, description, options }: CommandBody): string | undefined {
  if (name.length < 1 || name.length > 32) return 'a name has 1 to 32 characters';
  return description || options ? 'such a command has no description and no options' : undefined;
}

function checkNode({
  name,
  description = '',
  options = [],
  choices = [],
}: CommandBody): string | undefined {
  if (!NAME.test(name) || name !== name.toLowerCase()) return `the name ${name} is invalid`;
  if (description.length < 1 || description.length > 100)
    return `${name} needs a description of 1-100`;
  if (options.length > 25 || choices.length > 25)
    return `${name} has more than 25 options or choices`;
  if (choices.some((choice) => choice.name.length > 100)) return `${name} has a choice of over 100`;
  const required = options.map((option) => option.required === true);
  if (required.lastIndexOf(true) > required.indexOf(false) && required.includes(false)) {
    return `${name}: required options must be placed before non-required options`;
  }
  if (new Set(options.map((option) => option.name)).size < options.length) {
    return `${name} names an option twice`;
  }
  return options.map(checkNode).find((problem) => problem !== undefined);
}

function textOf({ name, description = '', options = [], choices = [] }: CommandBody): number {
  const own = name.length + description.length;
  const below = options.reduce((sum, option) => sum + textOf(option), 0);
  return own + below + choices.reduce((sum, choice) => sum + choice.name.length * 2, 0);
}
