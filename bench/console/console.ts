import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { PAGES } from '../../src/console/page-files.ts';
import { startBrowser } from '../../test/helpers/browser/browser.ts';
import type { Area, BenchContext } from '../shared/area.ts';
import { type Finding, findingOfOne, findingsOfTimes } from '../shared/finding.ts';
import { type ConsoleBed, MONITORS, startConsoleBed } from './bed.ts';

// This runs from dist/bench/, beside the built pages.
const PAGE_FILES = new URL('../console/page/', import.meta.url);

const LOADS = { full: 15, quick: 5 };
const SCROLL_MS = { full: 10_000, quick: 3_000 };
const PX_PER_FRAME = 30;
const SIZE = { width: 1280, height: 900 };

/** The status page of the whole program in a real browser, and an empty page beside it. */
export const statusPage: Area = {
  measures: ['weight', 'paint', 'scroll'],
  async run(context) {
    const { only, note, progress } = context;
    const wants = (measure: string) => only === undefined || only === measure;
    const findings = wants('weight') ? weights() : [];
    if (wants('paint') || wants('scroll')) {
      const browser = await startBrowser();
      if ('unavailable' in browser) throw new Error(browser.unavailable);
      progress('a past for the monitors');
      const bed = await startConsoleBed(context);
      if (wants('paint')) findings.push(...(await paints(context, bed, browser)));
      if (wants('scroll')) findings.push(...(await scrolls(context, bed, browser)));
      await browser.close();
      await bed.stop();
    }
    note('The browser draws without a graphics card, and shares its core with this bench.');
    return findings;
  },
};

/** Script and style together, as they are sent; what a page loads later has no style. */
function weights(): Finding[] {
  const built = readdirSync(PAGE_FILES);
  const pages = PAGES.map(({ name }) => name);
  const scripts = built.filter((file) => file.endsWith('.js'));
  return scripts.map((script) => {
    const name = script.replace(/\.js$/, '');
    const bytes = [script, `${name}.css`]
      .filter((file) => built.includes(file))
      .map((file) => gzipSync(readFileSync(new URL(file, PAGE_FILES))).length)
      .reduce((sum, one) => sum + one, 0);
    const goal = { atMost: pages.includes(name) ? 40 : 60 };
    return findingOfOne(
      { name: `weight-${name}`, title: `weight of ${name}`, unit: 'KB', goal },
      bytes / 1_000,
    );
  });
}

async function paints(context: BenchContext, bed: ConsoleBed, browser: Browser) {
  const first: number[] = [];
  const floor: number[] = [];
  const empty = await startEmptyPage();
  const shown: number[] = [];
  for (let load = 0; load < LOADS[context.quick ? 'quick' : 'full']; load++) {
    context.progress(`load ${load + 1}`);
    // A fresh context each, so that nothing is in a cache.
    const page = await openStatus(bed, browser);
    shown.push(await page.evaluate<number>('performance.now()'));
    first.push(await firstPaint(page));
    await page.context().close();
    const bare = await (await browser.newContext({ viewport: SIZE })).newPage();
    await bare.goto(empty.url);
    floor.push(await firstPaint(bare));
    await bare.context().close();
  }
  empty.stop();
  return [
    ...findingsOfTimes({
      ...{
        name: 'paint',
        title: 'first contentful paint; reference: of an empty page',
        timesMs: [first],
        referenceMs: [floor],
      },
      shares: { p50: { atMost: 150 }, p95: undefined },
    }),
    ...findingsOfTimes({
      ...{ name: 'shown', title: `${MONITORS} monitors shown`, timesMs: [shown] },
      shares: { p50: undefined },
    }),
  ];
}

/** A page of one line with no script and no style, on loopback as the others: what the browser itself takes. */
async function startEmptyPage(): Promise<{ url: string; stop(): void }> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8').end('<p>Empty</p>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => void server.close() };
}

/** Waits for the first paint with something in it; gives its time from the start of the navigation, milliseconds. */
const firstPaint = (page: Page) =>
  page.evaluate<number>(`new Promise((resolve) => {
    new PerformanceObserver((list, observer) => {
      const [entry] = list.getEntriesByName('first-contentful-paint');
      if (!entry) return;
      observer.disconnect();
      resolve(entry.startTime);
    }).observe({ type: 'paint', buffered: true });
  })`);

async function scrolls(context: BenchContext, bed: ConsoleBed, browser: Browser) {
  context.progress('scrolling');
  const page = await openStatus(bed, browser);
  const frames = await framesOf(page, context);
  const heightPx = await page.evaluate<number>('document.documentElement.scrollHeight');
  const empty = await browser.newPage({ viewport: SIZE });
  await empty.setContent(`<body><p id="tall">Empty</p></body>`);
  await empty.evaluate(`tall.style.height = '${heightPx}px'`);
  const reference = await framesOf(empty, context);
  await page.context().close();
  await empty.close();
  return findingsOfTimes({
    ...{ name: 'frames', title: `between frames, ${MONITORS} monitors scrolling` },
    ...{ timesMs: [frames], referenceMs: [reference] },
    shares: { p50: undefined, p99: undefined },
  });
}

async function openStatus({ url }: ConsoleBed, browser: Browser): Promise<Page> {
  const context = await browser.newContext({ viewport: SIZE });
  const page = await context.newPage();
  await page.goto(`${url}/status`);
  await page
    .locator('.row')
    .nth(MONITORS - 1)
    .waitFor({ state: 'attached' });
  return page;
}

/** Scrolls down, starting again at the end, and returns the times between frames. */
async function framesOf(page: Page, { quick }: BenchContext): Promise<number[]> {
  const spanMs = SCROLL_MS[quick ? 'quick' : 'full'];
  return await page.evaluate<number[]>(`new Promise((resolve) => {
    const gaps = [];
    const startMs = performance.now();
    let lastMs = startMs;
    let topPx = 0;
    function frame(nowMs) {
      gaps.push(Math.max(0, nowMs - lastMs));
      lastMs = nowMs;
      topPx = (topPx + ${PX_PER_FRAME}) % (document.documentElement.scrollHeight - innerHeight);
      scrollTo(0, topPx);
      if (nowMs - startMs < ${spanMs}) requestAnimationFrame(frame);
      else resolve(gaps.slice(1));
    }
    requestAnimationFrame(frame);
  })`);
}
