import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { prepareData } from '../../bench/monitoring/data.ts';
import { writePast } from '../../bench/monitoring/past.ts';
import { MonitorCreate } from '../../src/contracts/monitoring.ts';
import { startBrowser } from '../../test/helpers/browser/browser.ts';
import { startAskwatch } from './askwatch.ts';
import {
  ANSWER,
  alertOfAlertmanager,
  checkAt,
  lookingUp,
  MADE_UP,
  QUESTION,
  writeIncidents,
} from './made-up.ts';
import { takeMoving } from './moving.ts';
import { palettePng } from './palette-png.ts';
import { type Colours, pictureOf, pixelsOf, save } from './pictures.ts';

// Takes the pictures of README and docs/: the real program, whose monitors check a server of this script and have a
// made-up past, and whose questions are answered by a made-up model.
const DAY_MS = 86_400_000;
const PAST_MS = 90 * DAY_MS;
const CHECK_EVERY_MS = 600_000;

const VIEWPORT = { width: 1120, height: 760 };

const folder = mkdtempSync(join(tmpdir(), 'askwatch-screenshots-'));
try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// Open connections of this script's server must not keep the process alive.
process.exit();

async function main() {
  const askwatch = await startAskwatch(await prepare(await startTarget()));
  askwatch.provider.answerWith(ANSWER);
  const browser = await startBrowser();
  if ('unavailable' in browser) throw new Error(browser.unavailable);
  for (const colours of ['light', 'dark'] as const) {
    const context = await browser.newContext({
      ...{ viewport: VIEWPORT, colorScheme: colours, locale: 'en-GB' },
    });
    const page = await context.newPage();
    await takeStatus(page, askwatch.url, colours);
    await takePlayground(page, askwatch.url, colours);
    askwatch.provider.answerWith(lookingUp);
    await takeLookUp(page, askwatch.url, colours);
    askwatch.provider.answerWith(ANSWER);
    await takeAccount(page, askwatch.url, colours);
    await context.close();
    await takeMoving({ browser, folder, colours });
    await takeIntake(browser, colours);
  }
  await browser.close();
  await askwatch.stop();
}

/** Starts the monitors' targets, each at its own path. */
async function startTarget(): Promise<string> {
  const server = createServer(async (request, response) => {
    const one = MADE_UP[Number(request.url?.slice(1))];
    await pause((one?.tookMs ?? 0) * (one?.now === 'slow' ? 4 : 1));
    response.writeHead(one?.now === 'broken' ? 503 : 200).end('fine');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

async function prepare(target: string): Promise<string> {
  const definitions = MADE_UP.map(({ name, tookMs, now }, number) =>
    MonitorCreate.parse({
      ...{ name, target: `${target}/${number}`, check_type: 'HTTP' },
      // A machine that is busy must not make others slow, too.
      config: now === 'slow' ? { degraded_after_ms: 2 * tookMs } : {},
    }),
  );
  const data = await prepareData({ parent: folder, name: 'data', definitions, agoMs: PAST_MS });
  const nowMs = Date.now();
  const monitors = data.gridded.map((one) => ({
    ...one,
    intervalMs: CHECK_EVERY_MS,
    phaseMs: one.phaseMs % CHECK_EVERY_MS,
  }));
  const look = (number: number, atMs: number) => checkAt(number, atMs, nowMs);
  await writePast({ folder: data.folder, monitors, pastMs: PAST_MS, look });
  await writeIncidents(
    data.folder,
    data.gridded.map(({ id }) => id),
    nowMs,
  );
  return data.folder;
}

async function takeStatus(page: Page, url: string, colours: Colours) {
  await page.goto(`${url}/status`);
  await page.getByRole('heading', { name: '1 of 8 is down' }).waitFor({ timeout: 60_000 });
  await page.locator('.row.degraded').waitFor({ timeout: 60_000 });
  await page.locator('.bars').nth(7).waitFor({ state: 'attached', timeout: 60_000 });
  await take(page, `status-${colours}`);
  await page.getByRole('link', { name: 'Checkout' }).click();
  await page.locator('.latency svg').waitFor();
  await page.setViewportSize({ ...VIEWPORT, height: 1_000 });
  await take(page, `monitor-${colours}`);
  await page.setViewportSize(VIEWPORT);
}

async function takePlayground(page: Page, url: string, colours: Colours) {
  // Wide enough for the channel and a thread beside each other.
  await page.setViewportSize({ ...VIEWPORT, width: 1_400 });
  await page.goto(url);
  const line = page.getByLabel('Message to general', { exact: true });
  await line.fill('/monitor list');
  await line.press('Enter');
  // The list that was asked for before in the other colours stands above it.
  await page.getByText('by you').waitFor();
  await line.fill(`/ask ${QUESTION}`);
  await line.press('Enter');
  await page.getByRole('button', { name: 'Regenerate' }).waitFor();
  await take(page, `playground-${colours}`);
  await page.setViewportSize(VIEWPORT);
}

/** An answer that was looked up, with what it proposes. */
async function takeLookUp(page: Page, url: string, colours: Colours) {
  await page.setViewportSize({ ...VIEWPORT, width: 1_400, height: 640 });
  await page.goto(url);
  const line = page.getByLabel('Message to general', { exact: true });
  await line.fill('/ask what is down, and since when? Silence it for two hours.');
  await line.press('Enter');
  await page.getByRole('button', { name: 'Silence' }).waitFor();
  await take(page, `look-up-${colours}`);
  await page.setViewportSize(VIEWPORT);
}

async function takeAccount(page: Page, url: string, colours: Colours) {
  await page.goto(`${url}/account#models`);
  await page.getByText('small-4k', { exact: true }).first().waitFor();
  await take(page, `account-${colours}`);
}

/** An address for the alerts of an Alertmanager, and one that came in there. */
async function takeIntake(browser: Browser, colours: Colours) {
  const askwatch = await startAskwatch(mkdtempSync(join(folder, 'intake-')));
  const context = await browser.newContext({
    ...{ viewport: { ...VIEWPORT, height: 980 }, colorScheme: colours, locale: 'en-GB' },
  });
  const page = await context.newPage();
  await page.goto(askwatch.url);
  const line = page.getByLabel('Message to general', { exact: true });
  await line.fill('/monitor intake add alertmanager name="Production"');
  await line.press('Enter');
  const shown = page.locator('pre', { hasText: '/hooks/alertmanager/' }).first();
  const [path] = /\/hooks\/alertmanager\/\w+/.exec(await shown.innerText()) ?? [];
  const sent = await fetch(`${askwatch.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alertOfAlertmanager(Date.now())),
  });
  if (!sent.ok) throw new Error(await sent.text());
  await page.getByText('FIRING: HighErrorRate').first().waitFor();
  await take(page, `intake-${colours}`);
  await context.close();
  await askwatch.stop();
}

/** Saves a screenshot with a palette. */
async function take(page: Page, name: string) {
  await page.evaluate('document.activeElement?.blur()');
  save(name, palettePng(await pixelsOf(page, await pictureOf(page))));
}
