import type { Platform } from '../../../src/bot/platform.ts';
import {
  FileError,
  GONE,
  type SharedFile,
  sharedFile,
} from '../../../src/bot/shared/shared-file.ts';
import type { ProviderCall } from '../../fakes/model-provider.ts';
import { createScriptedPlatform } from '../bot/scripted-platform.ts';
import { startTestBot, type TestBotOptions } from '../bot.ts';

/** A model that sees pictures, and what a catalog says of it. */
export const SEES = { input: ['text', 'image'], ranks: { speed: 1, quality: 2, cost: 1 } };
export const BLIND = { input: ['text'], ranks: { speed: 1, quality: 9, cost: 1 } };

/** A bot whose platform holds files, which tests send and take away. */
export async function startSendingBot(options: TestBotOptions = {}) {
  const bot = await startTestBot({
    models: [{ id: 'sees', ...SEES }],
    ...options,
  });
  const held = new Map<string, Buffer>();
  const fetched: string[] = [];
  const platform: Platform = {
    ...createScriptedPlatform('console'),
    async *readFile({ ref }) {
      fetched.push(ref.id ?? '');
      const bytes = held.get(ref.id ?? '');
      if (!bytes) throw new FileError(GONE, { isGone: true });
      yield bytes;
    },
  };
  await bot.bot.start([platform]);
  return {
    ...bot,
    /** Files that were fetched, by their ids. */
    fetched,
    held,
    /** Puts a file where the platform has it. */
    send(name: string, bytes: Buffer | string, mediaType?: string): SharedFile {
      const id = `F${held.size + 1}`;
      held.set(id, Buffer.from(bytes));
      return sharedFile({ name, mediaType, bytes: bytes.length, ref: { id } });
    },
  };
}

interface Part {
  type: string;
  text?: string;
  image_url?: { url: string };
}

/** The parts of the messages of people in a call, pictures as their address. */
export function partsSaid({ body }: ProviderCall): string[][] {
  const messages: Array<{ role: string; content: string | Part[] }> = body.messages;
  return messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) =>
      typeof content === 'string'
        ? [content]
        : content.map(({ text, image_url }) => text ?? image_url?.url ?? '?'),
    );
}

/** The system prompt. */
export const systemOf = ({ body }: ProviderCall): string => body.messages[0].content;
