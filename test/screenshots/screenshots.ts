import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { prepareData } from '../../bench/monitoring/data.ts';
import { writePast } from '../../bench/monitoring/past.ts';
import { askwatchReady } from '../../bench/shared/askwatch-process.ts';
import { startProcess } from '../../bench/shared/target-process.ts';
import { MonitorCreate } from '../../src/contracts/monitoring.ts';
import { textModels } from '../../src/gateway/catalog/catalog.ts';
import { Catalog } from '../../src/gateway/catalog/catalog-schema.ts';
import { defaultCatalog } from '../../src/gateway/catalog/default-catalog.ts';
import { startModelProvider } from '../fakes/model-provider.ts';
import { startBrowser } from '../helpers/browser.ts';
import { ANSWER, lookAt, MADE_UP, QUESTION, writeIncidents } from './made-up.ts';
import { palettePng } from './palette-png.ts';

// Takes the pictures of README and docs/: the real program, whose monitors look at a server of this script and have a
// made-up past, and whose questions are answered by a made-up model. This runs from dist/screenshots/.
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));
const PICTURES = new URL('../../docs/images/', import.meta.url);

const DAY_MS = 86_400_000;
const PAST_MS = 90 * DAY_MS;
const LOOK_EVERY_MS = 600_000;

const VIEWPORT = { width: 1120, height: 760 };

const folder = mkdtempSync(join(tmpdir(), 'askwatch-screenshots-'));
try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// What the server of this script still holds open must not keep it.
process.exit();

async function main() {
  const data = await prepare(await startTarget());
  const upstreams = textModels(Catalog.parse(defaultCatalog)).flatMap((one) => one.upstreams);
  const provider = await startModelProvider({ models: upstreams.map(({ model }) => model) });
  provider.answerWith(ANSWER);
  const server = await startProcess({
    name: 'Askwatch',
    args: [PROGRAM],
    ready: new RegExp(askwatchReady),
    core: undefined,
    // Its working folder has no .env file.
    cwd: data,
    env: {
      ...{ DATA_DIR: data, PORT: '0', LOG_LEVEL: 'warn', ALERT_POLL_SECONDS: '1' },
      ...{ MONITOR_ALLOW_PRIVATE: '127.0.0.0/8,::1/128' },
      ...{ OPENAI_API_KEY: provider.apiKey, OPENAI_BASE_URL: `${provider.url}/v1` },
    },
  });
  const browser = await startBrowser();
  if ('unavailable' in browser) throw new Error(browser.unavailable);
  for (const colorScheme of ['light', 'dark'] as const) {
    const url = `http://127.0.0.1:${server.port}`;
    const locale = 'en-GB';
    const context = await browser.newContext({ viewport: VIEWPORT, colorScheme, locale });
    const page = await context.newPage();
    await takeStatus(page, url, colorScheme);
    await takePlayground(page, url, colorScheme);
    await takeAccount(page, url, colorScheme);
    await context.close();
  }
  await browser.close();
  await server.stop();
  await provider.close();
}

/** What the monitors look at: each at its path, as it is now. */
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
    intervalMs: LOOK_EVERY_MS,
    phaseMs: one.phaseMs % LOOK_EVERY_MS,
  }));
  const look = (number: number, atMs: number) => lookAt(number, atMs, nowMs);
  await writePast({ folder: data.folder, monitors, pastMs: PAST_MS, look });
  await writeIncidents(
    data.folder,
    data.gridded.map(({ id }) => id),
    nowMs,
  );
  return data.folder;
}

async function takeStatus(page: Page, url: string, colorScheme: string) {
  await page.goto(`${url}/status`);
  await page.getByRole('heading', { name: '1 of 8 is down' }).waitFor({ timeout: 60_000 });
  await page.locator('.row.degraded').waitFor({ timeout: 60_000 });
  await page.locator('.bars').nth(7).waitFor({ state: 'attached', timeout: 60_000 });
  await save(page, `status-${colorScheme}`);
  await page.getByRole('link', { name: 'Checkout' }).click();
  await page.locator('.latency canvas').waitFor();
  await page.setViewportSize({ ...VIEWPORT, height: 1_000 });
  await save(page, `monitor-${colorScheme}`);
  await page.setViewportSize(VIEWPORT);
}

async function takePlayground(page: Page, url: string, colorScheme: string) {
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
  await save(page, `playground-${colorScheme}`);
  await page.setViewportSize(VIEWPORT);
}

async function takeAccount(page: Page, url: string, colorScheme: string) {
  await page.goto(`${url}/account#models`);
  await page.getByText('small-4k', { exact: true }).first().waitFor();
  await save(page, `account-${colorScheme}`);
}

/** The page as it stands, with a palette; a browser decodes what it took itself. */
async function save(page: Page, name: string) {
  await page.evaluate('document.activeElement?.blur()');
  const taken = (await page.screenshot({ animations: 'disabled' })).toString('base64');
  const blank = await page.context().newPage();
  const pixels = await blank.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context?.drawImage(image, 0, 0);
    const { width, height } = image;
    const { data } = context?.getImageData(0, 0, width, height) ?? { data: new Uint8Array() };
    // As text: three million numbers take minutes on their way.
    const rows = Array.from({ length: height }, (_, row) =>
      btoa(String.fromCharCode(...data.subarray(row * width * 4, (row + 1) * width * 4))),
    );
    return { width, height, rows };
  }, taken);
  await blank.close();
  mkdirSync(PICTURES, { recursive: true });
  const { width, height } = pixels;
  const data = Buffer.concat(pixels.rows.map((row) => Buffer.from(row, 'base64')));
  const png = palettePng({ width, height, data });
  writeFileSync(new URL(`${name}.png`, PICTURES), png);
  process.stderr.write(`${name}.png, ${Math.round(png.length / 1_000)} KB\n`);
}
