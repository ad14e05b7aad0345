import type { Answer, Arguments } from './workspace.ts';

type Check = (value: unknown) => boolean;

const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);

const isText: Check = (value) => typeof value === 'string';
const isFilled = matches(/./);
const isChannel = matches(/^[CDG][0-9A-Z_]{1,30}$/);
const isUser = matches(/^[UW][0-9A-Z]{1,30}$/);
const isTs = matches(/^\d{1,12}\.\d{6}$/);
/** Booleans in form encoding. */
const isFlag = matches(/^(?:true|false)$/);
const isCount = matches(/^[1-9]\d{0,5}$/);
const isTime = matches(/^\d{1,12}(?:\.\d{1,6})?$/);
const isObject: Check = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const hasText: Check = (value) => isText((value as { text?: unknown } | undefined)?.text);
const isInput: Check = (value) => {
  const { block_id, label, element } = (isObject(value) ? value : {}) as Record<string, unknown>;
  return isText(block_id) && hasText(label) && isObject(element);
};
/** Between the inputs stands what only shows something. */
const isInView: Check = (value) => {
  const { type } = (isObject(value) ? value : {}) as { type?: unknown };
  return type === 'input' ? isInput(value) : isText(type);
};

const isFileList: Check = (value) =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((one) => isObject(one) && isFilled((one as { id?: unknown }).id));

const isView: Check = (value) => {
  const { title, submit, blocks } = (isObject(value) ? value : {}) as Record<string, unknown>;
  return hasText(title) && hasText(submit) && Array.isArray(blocks) && blocks.every(isInView);
};

const MESSAGE: Record<string, Check> = {
  text: isText,
  blocks: Array.isArray,
  parse: matches(/^(?:none|full)$/),
  link_names: isFlag,
};
const PAGE: Record<string, Check> = {
  cursor: isFilled,
  include_all_metadata: isFlag,
  limit: isCount,
  oldest: isTime,
};

/** A method's required and optional arguments. Source: Slack docs, the reference page of each method. */
interface Signature {
  needs: Record<string, Check>;
  takes?: Record<string, Check>;
}

const SIGNATURES: Record<string, Signature> = {
  'apps.connections.open': { needs: {} },
  'auth.test': { needs: {} },
  'chat.getPermalink': { needs: { channel: isChannel, message_ts: isTs } },
  'chat.delete': { needs: { channel: isChannel, ts: isTs } },
  'chat.postEphemeral': {
    needs: { channel: isChannel, user: isUser },
    takes: { ...MESSAGE, thread_ts: isTs },
  },
  'chat.postMessage': {
    needs: { channel: isChannel },
    takes: {
      ...MESSAGE,
      thread_ts: isTs,
      reply_broadcast: isFlag,
      unfurl_links: isFlag,
      unfurl_media: isFlag,
      metadata: isObject,
    },
  },
  'chat.update': { needs: { channel: isChannel, ts: isTs }, takes: MESSAGE },
  'conversations.history': { needs: { channel: isChannel }, takes: PAGE },
  'conversations.replies': { needs: { channel: isChannel, ts: isTs }, takes: PAGE },
  'files.completeUploadExternal': {
    needs: { files: isFileList },
    takes: {
      channel_id: isChannel,
      thread_ts: isTs,
      blocks: Array.isArray,
      initial_comment: isText,
    },
  },
  'files.getUploadURLExternal': { needs: { filename: isFilled, length: isCount } },
  'usergroups.users.list': { needs: { usergroup: matches(/^S[0-9A-Z]{1,30}$/) } },
  'files.info': { needs: { file: matches(/^F[0-9A-Z]{1,30}$/) } },
  'users.info': { needs: { user: isUser } },
  'views.open': { needs: { trigger_id: isFilled, view: isView } },
  'views.publish': { needs: { user_id: isFilled, view: isObject }, takes: { hash: isFilled } },
  'views.update': { needs: { view_id: isFilled, view: isView }, takes: { hash: isFilled } },
};

export const isMethod = (method: string) => Object.hasOwn(SIGNATURES, method);

/** The refusal of a call that lacks what the method needs, or has it as something else. Names that Slack does not know it ignores. */
export function argumentsProblem(method: string, args: Arguments): Answer | undefined {
  const signature = isMethod(method) ? SIGNATURES[method] : undefined;
  const { needs, takes = {} } = signature ?? { needs: {} };
  const missing = Object.keys(needs).filter(
    (name) => args[name] === undefined || args[name] === '',
  );
  const wrong = Object.entries({ ...needs, ...takes }).flatMap(([name, isRight]) =>
    args[name] === undefined || missing.includes(name) || isRight(args[name]) ? [] : [name],
  );
  if (missing.length + wrong.length === 0) return undefined;
  const messages = [
    ...missing.map((name) => `[ERROR] missing required field: ${name}`),
    ...wrong.map((name) => `[ERROR] must be another kind of value: ${name}`),
  ];
  return { ok: false, error: 'invalid_arguments', response_metadata: { messages } };
}
