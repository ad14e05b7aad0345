import type { OpenBot } from '../../../src/bot/platform.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import type { ModelProvider } from '../../fakes/model-provider.ts';
import type { MonitoringService } from '../../fakes/monitoring-service.ts';
import type { TestBotOptions } from '../bot.ts';
import { eventually } from '../eventually.ts';

/** A message as a person sees it. */
export interface SeenMessage {
  id: string;
  /** The id of the message above its thread. */
  thread?: string;
  isPrivate: boolean;
  isOurs: boolean;
  /** Text of all blocks or embeds. */
  text: string;
  buttons: string[];
  files: Array<{ name: string; text: string }>;
  /** People, roles and groups that it notified. */
  notified: string[];
}

export interface ContractFile {
  name: string;
  bytes: Buffer;
  mediaType?: string;
}

export interface SeenForm {
  title: string;
  /** Inputs with their values. */
  inputs: Record<string, string>;
}

/** The first person is the default. */
type By = 0 | 1;

/** A chat platform with a real bot, in the words of a person who uses it. */
export interface ChatWorld {
  place: Place;
  bot: OpenBot;
  provider: ModelProvider;
  service: MonitoringService;
  lines: Array<Record<string, unknown>>;
  /** Names of the two people. */
  people: readonly [string, string];
  /** Lets a person manage everything, or no longer. */
  setManager(by: By, isManager: boolean): void;
  command(name: string, values?: Record<string, unknown>, by?: By): void;
  /** Says something and returns the message's id. With `toBot` it mentions the bot. */
  say(
    text: string,
    where?: { thread?: string; by?: By; toBot?: boolean; files?: readonly ContractFile[] },
  ): string;
  messages(): SeenMessage[];
  press(message: string, label: string, by?: By): void;
  chooseToAskAbout(message: string): void;
  /** The form that the last command, press or choice opened. */
  form(): SeenForm | undefined;
  /** Changes these values of the form and sends it. */
  submit(values?: Record<string, string>): void;
  /** Delivers the last command, press or form again. */
  repeat(): void;
  /** Stops platform and bot, and starts both again on the same data. */
  restart(): Promise<void>;
  /** Resolves when everything under way is shown. */
  stop(): Promise<void>;
}

export type WorldOptions = Omit<TestBotOptions, 'provider' | 'folder' | 'store'> & {
  /** Posts alerts of new outages in the channel. */
  alerts?: boolean;
  /** Creates the folder that the bot starts with, for the world's channel. */
  folderFor?: (place: Place) => Promise<string>;
};

export type OpenWorld = (options?: WorldOptions) => Promise<ChatWorld>;

export const WHOLE = ['Regenerate', '👍', '👎'];
export const ANSWER = 'Hello from the fake provider.';

/** The newest message that matches, once it is there. */
export const find = (
  { messages }: ChatWorld,
  matches: (message: SeenMessage) => boolean,
  what = 'a message',
): Promise<SeenMessage> => eventually(() => messages().findLast(matches), { what });

export const seen = ({ messages }: ChatWorld, id: string): SeenMessage => {
  const message = messages().find((one) => one.id === id);
  if (!message) throw new Error(`There is no message ${id}.`);
  return message;
};

/** The bot's messages in a thread. */
export const inThread = ({ messages }: ChatWorld, thread: string) =>
  messages().filter((one) => one.isOurs && !one.isPrivate && one.thread === thread);

/** The newest whole answer, once it contains this text. */
export const wholeAnswer = (world: ChatWorld, text: string, buttons = WHOLE) =>
  find(
    world,
    (one) => one.text.includes(text) && buttons.every((label) => one.buttons.includes(label)),
    `the whole answer “${text}”`,
  );

/** Types `/ask`, and returns the thread with the whole answer. */
export async function ask(world: ChatWorld, question = 'Why?', text = ANSWER) {
  world.command('ask', { question });
  const answer = await wholeAnswer(world, text);
  return { answer, thread: answer.thread ?? '' };
}

/** A private message to a person that contains this text. */
export const told = (world: ChatWorld, text: string | RegExp) =>
  find(world, (one) => one.isPrivate && new RegExp(text).test(one.text), `a private ${text}`);

export const openForm = ({ form }: ChatWorld): Promise<SeenForm> =>
  eventually(form, { what: 'a form' });

/** The last prompt without the system message. */
export function prompted({ provider }: Pick<ChatWorld, 'provider'>): string[] {
  const messages: Array<{ role: string; content: string }> =
    provider.calls.at(-1)?.body.messages ?? [];
  return messages.filter(({ role }) => role !== 'system').map(({ content }) => content);
}

/** People's messages in the last prompt, without times. */
export const promptedLines = (world: ChatWorld): string[] =>
  (prompted(world).at(-1) ?? '')
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => line.replace(/^- \d{4}-\d\d-\d\d \d\d:\d\dZ /, ''));

/** Opens a world whose channel got the alert that the shop is down. */
export async function withAlert(open: OpenWorld, name = 'Shop') {
  const world = await open({ alerts: true });
  const { service } = world;
  const shop = service.add({ name });
  const polls = service.requests.length;
  await eventually(() => service.requests.length > polls + 1);
  service.setStatus(shop.id, 'DOWN');
  const alert = await find(world, ({ buttons }) => buttons.includes('Ask why'), 'an alert');
  // It is stored a moment after it is seen.
  await eventually(() => world.bot.isConversation(world.place, alert.id));
  return { world, alert, shop };
}
