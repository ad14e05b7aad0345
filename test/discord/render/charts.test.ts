import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Chart } from '../../../src/bot/shared/card.ts';
import { pictureOf, svgOf } from '../../../src/discord/render/chart-picture.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { checkMessage } from '../../fakes/discord/limits.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { anyChart } from '../../helpers/any-chart.ts';
import { counting, startAdditions } from '../../helpers/bot/stepped-watch.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-11-21T11:00:00Z');
const HOSTILE = '<svg onload=x> & @everyone "Shop"';

function chartOf(values: Array<number | null>, given: Partial<Chart> = {}): Chart {
  const points = values.map((value, index) => ({ atMs: START + index * HOUR_MS, value }));
  const words = { title: 'Response time, last 24 hours', unit: 'ms', text: '▁·█' };
  return { kind: 'chart', ...words, points, stepMs: HOUR_MS, outages: [], ...given };
}

/** Width and height, as the head of a PNG says. */
const sizeOf = (png: Buffer) => [png.readUInt32BE(16), png.readUInt32BE(20)];
const isPng = (bytes: Buffer) => bytes.subarray(1, 4).toString() === 'PNG';

const count = (text: string, piece: string) => text.split(piece).length - 1;

describe('the picture of a chart', () => {
  test('has a line for each run, a dot for each lone value, and shades what was down or not seen', () => {
    const values = [1, 2, null, 400, null, null, 7, 8];
    const outages = [{ fromMs: START + 2 * HOUR_MS, toMs: START + 3 * HOUR_MS }];
    const svg = svgOf(chartOf(values, { outages }));
    expect(count(svg, '<circle')).toBe(1);
    const lines = /<path d="([^"]*)" fill="none" stroke="#8f8bff"/.exec(svg)?.[1] ?? '';
    expect(count(lines, 'M')).toBe(2);
    expect(count(svg, '#5a2331')).toBe(1);
    expect(count(svg, '#272934')).toBe(2);
    // The words of the outage have a colour of their own, and are there.
    expect(svg).toMatch(/fill="#ff9dac"><text [^>]*>down</);
    expect(svgOf(chartOf([1, 2]))).toMatch(/fill="#ff9dac"><\/g>/);
  });

  test('is a PNG twice as fine as it is shown, and not a blank one', async () => {
    const full = await pictureOf(chartOf([100, 300, null, 200]));
    expect(isPng(full)).toBe(true);
    expect(sizeOf(full)).toEqual([1040, 400]);
    const blank = await pictureOf(chartOf([]));
    expect(full.length).toBeGreaterThan(blank.length + 1_000);
  });

  test('has its labels also where the machine has no font', async () => {
    const values = [100, 300, null, 200];
    const shifted = chartOf(values);
    for (const point of shifted.points) point.atMs += 12 * HOUR_MS;
    // All that differs are the digits of the clocks.
    expect(await pictureOf(shifted)).not.toEqual(await pictureOf(chartOf(values)));
    const inSeconds = chartOf(values, { unit: 's' });
    expect(await pictureOf(inSeconds)).not.toEqual(await pictureOf(chartOf(values)));
  });
  test('a chart of several days shows days in its zone', () => {
    const labels = (zone?: string) => {
      // The last one begins after the clocks were set.
      const begins = [22, 23, 24].map((day) => Date.UTC(2026, 9, day, 22));
      const points = [...begins, Date.UTC(2026, 9, 25, 23)].map((atMs) => ({ atMs, value: 1 }));
      const chart = chartOf([], { points, stepMs: 24 * HOUR_MS, ...(zone && { zone }) });
      return [...svgOf(chart).matchAll(/>(\d\d-\d\d|UTC)</g)].map(([, label]) => label);
    };
    expect(labels('Europe/Berlin')).toEqual(['10-24', '10-25', '10-26']);
    expect(labels()).toEqual(['10-23', '10-24', '10-25', 'UTC']);
    expect(labels('No/Zone')).toEqual(['10-23', '10-24', '10-25']);
  });

  test('holds nothing but shapes, numbers and clocks, whatever the chart’s words are', () => {
    const words = fc.oneof(fc.string({ unit: anyCharacter }), fc.constant(HOSTILE));
    fc.assert(
      fc.property(anyChart(words), (chart) => {
        const svg = svgOf({ ...chart, unit: 'ms', points: chart.points.map(countable) });
        expect(
          svg.replace(
            /<\/?(?:svg|rect|path|circle|g)\b[^<>]*>|<text [^<>]*>[\w #&:;.-]+<\/text>/g,
            '',
          ),
        ).toBe('');
        expect(svg).not.toMatch(/NaN|Infinity|undefined|onload/);
      }),
      { numRuns: long ? 5_000 : 200 },
    );
  });
});

/** Larger values have no words. */
const countable = (point: { atMs: number; value: number | null }) => ({
  ...point,
  value: point.value === null ? null : Math.min(point.value, 1e9),
});

/** Discord with a bot that watches a service that has summed up some hours. */
async function start({ hours = true } = {}) {
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const rollups = [4, 3, 2, 1].map((ago) => ({
    ...{ starts_at: new Date(nowMs - ago * HOUR_MS).toISOString(), checks: 60, failures: 0 },
    ...{ response_time_ms: { min: 1, mean: ago * 100, max: 900 }, up_ms: HOUR_MS, down_ms: 0 },
  }));
  const monitor = counting('a', 1, { name: HOSTILE });
  const watched = await startAdditions([monitor], (what) =>
    what === 'rollups' && hours ? { body: { by: 'hour', rollups } } : { status: 404, body: {} },
  );
  const discord = await startDiscord();
  const { bot } = await startTestBot({ watched });
  onTestFinished(() => bot.stop());
  return { discord, ...(await startPlatform(discord, bot)) };
}

const TEXT = /last 24 hours: ·+█▆▃▁·* 100 ms to 400 ms/;

describe('/monitor show', () => {
  test('comes with the picture in its embed, described for whoever cannot see it', async () => {
    const { discord } = await start();
    const asked = discord.slash('monitor show', { monitor: 'a' });
    const reply = await eventually(() => asked.reply?.embeds[0] && asked.reply);
    const [file, ...others] = reply.attachments;
    expect(others).toEqual([]);
    expect(file).toMatchObject({ filename: 'chart.png', content_type: 'image/png' });
    expect(file && isPng(file.bytes)).toBe(true);
    expect(file?.description).toMatch(TEXT);
    expect(reply.embeds[0]).toMatchObject({
      title: expect.stringContaining('Shop'),
      description: expect.stringContaining('last 24 hours: see the image'),
      image: { url: file?.url },
    });
  });
  test('says it in text where the bot may not attach files', async () => {
    const { discord } = await start();
    discord.deny(discord.general, 'AttachFiles');
    const asked = discord.slash('monitor show', { monitor: 'a' });
    const reply = await eventually(() => asked.reply?.embeds[0] && asked.reply);
    expect(reply.attachments).toEqual([]);
    expect(reply.embeds[0]?.description).toMatch(TEXT);
    // Discord counted no refused request.
    expect(discord.requests.flatMap(({ uploads }) => uploads)).toEqual([]);
  });

  test.each([
    { status: 413, body: { message: 'Request entity too large', code: 40_005 } },
    { status: 403, body: { message: 'Missing Permissions', code: 50_013 } },
  ])('says it in text where Discord refuses the file with $status', async (refusal) => {
    const { discord, lines } = await start();
    discord.fail({ method: 'PATCH', ...refusal });
    const asked = discord.slash('monitor show', { monitor: 'a' });
    const reply = await eventually(() => asked.reply?.embeds[0] && asked.reply);
    expect(reply.attachments).toEqual([]);
    expect(reply.embeds[0]?.description).toMatch(TEXT);
    expect(lines.some(({ msg }) => /image of a chart/.test(String(msg)))).toBe(true);
    const sent = discord.requests.filter(({ method }) => method === 'PATCH');
    expect(sent.map(({ uploads, status }) => `${uploads.length} ${status}`)).toEqual([
      `1 ${refusal.status}`,
      '0 200',
    ]);
  });
});

test('the fake refuses files that Discord refuses, and shows no picture that is not there', () => {
  const file = (size: number, id = 0) => ({
    ...{ id, name: 'chart.png', contentType: 'image/png', bytes: Buffer.alloc(size) },
  });
  const check = (uploads: ReturnType<typeof file>[], description = '') =>
    checkMessage({ content: 'x', uploads, attachments: [{ id: 0, description }] }, 'post')?.code;
  const MIB = 1024 * 1024;
  expect(check([file(10 * MIB)])).toBeUndefined();
  expect(check([file(10 * MIB + 1)])).toBe(40_005);
  expect(check([file(9 * MIB), file(9 * MIB, 1), file(9 * MIB, 2)])).toBe(40_005);
  expect(check(Array.from({ length: 11 }, (_, id) => file(1, id)))).toBe(30_015);
  expect(check([file(1)], 'x'.repeat(1_025))).toBe(50_035);
});
