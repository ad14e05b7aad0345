import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { animatedPng, type Frame } from './animated-png.ts';
import { startAskwatch } from './askwatch.ts';
import { ANSWER, QUESTION } from './made-up.ts';
import { type Colours, pictureOf, pixelsOf, save } from './pictures.ts';

const VIEWPORT = { width: 1_200, height: 740 };

/** Between two words of the model. */
const WORD_MS = 90;

/** The longest shown pause without changes, except for the last frame. */
const MOST_WAITING_MS = 2_000;
const END_MS = 4_000;

/** Takes the moving pictures: an answer that grows in its thread, an alert that becomes "recovered", and both as one. */
export async function takeMoving(options: { browser: Browser; folder: string; colours: Colours }) {
  const { browser, folder, colours } = options;
  const askwatch = await startAskwatch(mkdtempSync(join(folder, 'moving-')));
  askwatch.provider.answerWith(ANSWER, { chunkMs: WORD_MS });
  const context = await browser.newContext({
    ...{ viewport: VIEWPORT, colorScheme: colours, locale: 'en-GB' },
  });
  const page = await context.newPage();
  await page.goto(askwatch.url);
  const asked = await record(page, () => ask(page));
  save(`ask-${colours}`, moving(asked));
  await page.getByRole('button', { name: 'Close the thread' }).click();
  const shop = await startShop();
  const alerted = await record(page, () => loseAndRecover(page, shop));
  save(`alert-${colours}`, moving(alerted));
  save(`tour-${colours}`, moving([...asked, ...alerted]));
  shop.close();
  await context.close();
  await askwatch.stop();
}

async function ask(page: Page) {
  await type(page, `/ask ${QUESTION}`);
  await page.getByRole('button', { name: 'Regenerate' }).waitFor();
}

async function loseAndRecover(page: Page, shop: Shop) {
  await type(page, `/monitor add ${shop.url} name="Shop" interval=5`);
  await page.getByText('Now watching Shop').first().waitFor();
  await pause(MOST_WAITING_MS);
  shop.answerWith(503);
  await page.getByText('Shop is down').first().waitFor();
  await pause(MOST_WAITING_MS);
  shop.answerWith(200);
  await page.getByText('Shop recovered').first().waitFor();
}

/** Types at a readable speed. */
async function type(page: Page, text: string) {
  const line = page.getByLabel('Message to general', { exact: true });
  await line.pressSequentially(text, { delay: 40 });
  await line.press('Enter');
}

/** All that the page shows while something is done. */
async function record(page: Page, act: () => Promise<void>): Promise<Frame[]> {
  const taken: Array<{ png: Buffer; atMs: number }> = [];
  const take = async () => taken.push({ png: await pictureOf(page), atMs: performance.now() });
  let isOver = false;
  const acting = act().finally(() => {
    isOver = true;
  });
  while (!isOver) await take();
  await acting;
  await take();
  // To decode a picture takes longer than to take it, so one that is the same as the one before is not.
  const frames: Frame[] = [];
  for (const [place, { png, atMs }] of taken.entries()) {
    const isSame = place > 0 && taken[place - 1]?.png.equals(png);
    const untilMs = taken[place + 1]?.atMs ?? atMs + END_MS;
    const last = frames.at(-1);
    if (isSame && last) last.shownMs += untilMs - atMs;
    else frames.push({ pixels: await pixelsOf(page, png), shownMs: untilMs - atMs });
  }
  return frames;
}

/** Frames as a moving picture. */
function moving(frames: readonly Frame[]): Buffer {
  const shownMs = (frame: Frame, place: number) =>
    place === frames.length - 1 ? END_MS : Math.min(frame.shownMs, MOST_WAITING_MS);
  return animatedPng(
    frames.map((frame, place) => ({ ...frame, shownMs: Math.round(shownMs(frame, place)) })),
  );
}

interface Shop {
  url: string;
  answerWith(status: number): void;
  close(): void;
}

/** Starts the monitored target, which goes down and recovers. */
async function startShop(): Promise<Shop> {
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    answerWith(next) {
      status = next;
    },
    close: () => void server.close(),
  };
}
