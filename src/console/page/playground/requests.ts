import type {
  CardAction,
  ConsolePerson,
  InteractionOutcome,
  ShownFile,
} from '../../shared/api-types.ts';
import { encodeAction } from '../../shared/from-bot.ts';
import { randomId } from '../shared/random-id.ts';
import { errorSentence, postUntilAnswered } from '../shared/requests.ts';
import { leadsToLogin } from '../shared/session.ts';

export interface ChatPlace {
  channel: string;
  thread?: string;
}

export interface PressedButton {
  action: CardAction;
  message: string;
  /** Only this person has the message. */
  private?: true;
}

export interface OfferedValue {
  label: string;
  value: string;
}

/** Each of these requests resolves to the place of the reply, or throws an `Error` with a sentence to show. */
export const sendLine = (text: string, files: string[], place: ChatPlace) =>
  interact('/console/sayings', { text, files }, place);

export const pressButton = (pressed: PressedButton, place: ChatPlace) =>
  interact('/console/presses', { ...pressed, action: encodeAction(pressed.action) }, place);

export const sendForm = (command: string, values: Record<string, string>, place: ChatPlace) =>
  interact('/console/forms', { command, values }, place);

/** Throws an `Error` with a sentence to show. */
export const rename = (name: string) => post<ConsolePerson>('/console/name', { name });

/** Resolves to the channel's name. Throws an `Error` with a sentence to show. */
export const createChannel = async (name: string) =>
  (await post<{ channel: string }>('/console/channels', { name })).channel;

/** Uploads a file that is to be sent. Throws an `Error` with a sentence to show, or the signal's reason. */
export async function uploadFile(
  channel: string,
  name: string,
  file: Blob,
  signal: AbortSignal,
): Promise<ShownFile> {
  const data = await base64Of(file);
  signal.throwIfAborted();
  return await post<ShownFile>('/console/files', { channel, name, data });
}

/** Values for an input; none if the server can't be reached, which the page shows elsewhere. */
export async function suggestValues(
  input: string,
  typed: string,
  signal: AbortSignal,
): Promise<OfferedValue[]> {
  const query = new URLSearchParams({ input, typed });
  try {
    const response = await fetch(`/console/suggestions?${query}`, { signal });
    return response.ok ? ((await response.json()) as OfferedValue[]) : [];
  } catch {
    return [];
  }
}

/** Deletes a private message. The tab hides it anyway, so a failure is ignored. */
export const dismissMessage = (message: string) =>
  post('/console/dismissals', { message }).catch(() => undefined);

export async function fetchJson<T>(path: string): Promise<T> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(await errorSentence(response));
  return (await response.json()) as T;
}

export const documentAddress = (root: string, message: string) =>
  `/console/threads/${encodeURIComponent(root)}/documents/${encodeURIComponent(message)}`;

const interact = (path: string, fields: Record<string, unknown>, place: ChatPlace) =>
  post<InteractionOutcome>(path, { id: randomId(), ...place, ...fields });

async function post<T>(path: string, fields: Record<string, unknown>): Promise<T> {
  const response = await postUntilAnswered(path, fields);
  if (leadsToLogin(response)) {
    throw new Error('Your session had ended, so this was not sent. Send it again.');
  }
  if (!response.ok) throw new Error(await errorSentence(response));
  return (await response.json()) as T;
}

/** Encodes a file without blocking the page. */
function base64Of(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',', 2)[1] ?? '');
    reader.onerror = () => reject(new Error("This file can't be read."));
    reader.readAsDataURL(file);
  });
}
