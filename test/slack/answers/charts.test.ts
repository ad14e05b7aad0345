import { webApi } from '@slack/bolt';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Card, Chart } from '../../../src/bot/shared/card.ts';
import { createShowCard } from '../../../src/slack/answers/charts.ts';
import type { Content } from '../../../src/slack/render/blocks.ts';
import { barsOf, renderChart } from '../../../src/slack/render/render-chart.ts';
import { type ChartBlock, chartsIn, isChartRight } from '../../fakes/slack/chart.ts';
import { blocksProblem, shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { anyChart } from '../../helpers/any-chart.ts';
import { counting, startAdditions } from '../../helpers/bot/stepped-watch.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-11-21T11:00:00Z');
const HOSTILE = '<!channel> *Shop* & <@U1>';

function chartOf(values: Array<number | null>, given: Partial<Chart> = {}): Chart {
  const points = values.map((value, index) => ({ atMs: START + index * HOUR_MS, value }));
  const words = { title: 'Response time, last 24 hours', unit: 'ms', text: '▁·█' };
  return { kind: 'chart', ...words, points, stepMs: HOUR_MS, outages: [], ...given };
}

const cardWith = (...parts: Card['parts']): Card => ({ tone: 'good', title: HOSTILE, parts });

describe('a chart as Slack’s own', () => {
  test('has a bar for each two hours of a day, none while it was down, and says why', () => {
    const values: Array<number | null> = Array.from({ length: 24 }, (_, at) => 100 + at);
    values.splice(9, 4, null, null, null, null);
    values[20] = null;
    values[21] = null;
    const outages = [{ fromMs: START + 9.5 * HOUR_MS, toMs: START + 13 * HOUR_MS }];
    const block = renderChart(chartOf(values, { outages }));
    expect(block).toEqual({
      type: 'data_visualization',
      title: 'Response time, last 24 hours',
      chart: {
        type: 'bar',
        series: [{ name: 'Response time', data: expect.any(Array) }],
        axis_config: { categories: expect.any(Array), x_label: 'From (UTC)', y_label: 'ms' },
      },
    });
    expect(block?.chart.series[0]?.data.map(({ label, value }) => `${label} ${value}`)).toEqual([
      ...['11:00 100.5', '13:00 102.5', '15:00 104.5', '17:00 106.5'],
      ...['19:00 part down 108', '21:00 down 0', '23:00 part down 113'],
      ...['01:00 114.5', '03:00 116.5', '05:00 118.5', '07:00 no data 0', '09:00 122.5'],
    ]);
  });

  test('is none where nothing was measured, and names days where clocks would come twice', () => {
    expect(renderChart(chartOf([]))).toBeUndefined();
    expect(renderChart(chartOf([null, null]))).toBeUndefined();
    const week = renderChart(chartOf(Array(7).fill(5), { stepMs: 24 * HOUR_MS }));
    expect(week?.chart.axis_config.categories[0]).toBe('11-21 11:00');
    expect(renderChart(chartOf([7]))?.chart.axis_config.categories).toEqual(['11:00']);
    // 11:00 UTC is midnight there.
    const points = [0, 1, 2].map((day) => ({ atMs: START + day * 24 * HOUR_MS, value: 5 }));
    const days = { points, stepMs: 24 * HOUR_MS, zone: 'Pacific/Auckland' };
    expect(renderChart(chartOf([], days))?.chart.axis_config).toMatchObject({
      categories: ['11-22', '11-23', '11-24'],
      x_label: 'From (Pacific/Auckland)',
    });
  });

  test('keeps the limits whatever is in it, its bars in order and each of its own points only', () => {
    const words = fc.oneof(fc.string({ unit: anyCharacter }), fc.constant(HOSTILE.repeat(9)));
    fc.assert(
      fc.property(anyChart(words), (chart) => {
        const block = renderChart(chart);
        if (block) expect(blocksProblem([block])).toBeUndefined();
        // Larger values make no chart.
        if (chart.points.some(({ value }) => value !== null && value > 1e11)) return;
        const bars = barsOf(chart);
        expect(bars.length).toBeLessThanOrEqual(20);
        const { points, stepMs, outages } = chart;
        for (const [index, { atMs, value, note }] of bars.entries()) {
          const endMs = bars[index + 1]?.atMs ?? Number.POSITIVE_INFINITY;
          expect(endMs).toBeGreaterThan(atMs);
          const own = points.filter((point) => point.atMs >= atMs && point.atMs < endMs);
          const values = own.flatMap((point) => point.value ?? []);
          const lastMs = (own.at(-1)?.atMs ?? 0) + stepMs;
          const isDown = outages.some(({ fromMs, toMs }) => fromMs < lastMs && atMs < toMs);
          expect(note.endsWith('down')).toBe(isDown);
          expect(note === '').toBe(!isDown && values.length === own.length);
          if (values.length === 0) expect(value).toBe(0);
          else expect(value).toBeGreaterThanOrEqual(Math.min(...values) - 0.1);
          expect(value).toBeLessThanOrEqual(Math.max(0, ...values) + 0.1);
        }
      }),
      { numRuns: long ? 5_000 : 300 },
    );
  });

  test('the third chart of a card is text', () => {
    const chart = chartOf([1, 2]);
    const { log } = recordingLog();
    return createShowCard(log)(cardWith(chart, chart, chart), async ({ text, blocks }) => {
      expect(blocksProblem(blocks)).toBeUndefined();
      expect(chartsIn(blocks)).toHaveLength(2);
      expect(JSON.stringify(blocks.at(-1))).toContain('last 24 hours: ▁·█');
      expect(text.split('▁·█')).toHaveLength(4);
    });
  });
});

const refusal = (error: string) => new webApi.WebAPIPlatformError({ ok: false, error });

describe('where Slack refuses a chart', () => {
  /** A workspace whose answers a test makes, and a clock that it moves. */
  function start(answer: (content: Content) => Error | undefined) {
    const { log, lines } = recordingLog();
    const clock = { nowMs: 0 };
    vi.spyOn(performance, 'now').mockImplementation(() => clock.nowMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const showCard = createShowCard(log);
    const tried: Content[] = [];
    const show = (card: Card) =>
      showCard(card, async (content) => {
        tried.push(content);
        const error = answer(content);
        if (error) throw error;
      });
    const kinds = () => tried.splice(0).map(({ blocks }) => chartsIn(blocks).length);
    return { show, kinds, clock, lines };
  }
  const card = cardWith(chartOf([1, 2]));
  const refusesCharts = ({ blocks }: Content) =>
    chartsIn(blocks).length > 0 ? refusal('invalid_blocks') : undefined;

  test('its text is shown, and charts are not tried again for an hour', async () => {
    const { show, kinds, clock, lines } = start(refusesCharts);
    await show(card);
    expect(kinds()).toEqual([1, 0]);
    clock.nowMs = 59 * 60_000;
    await show(card);
    await show(cardWith({ kind: 'text', text: 'No chart.' }));
    expect(kinds()).toEqual([0, 0]);
    clock.nowMs = 61 * 60_000;
    await show(card);
    expect(kinds()).toEqual([1, 0]);
    expect(
      lines.filter(({ msg }) => /does not support Slack charts/.test(String(msg))),
    ).toHaveLength(2);
  });

  test('what is wrong with the rest of the card, or with the call, is not taken for it', async () => {
    const always = start(() => refusal('invalid_blocks'));
    await expect(always.show(card)).rejects.toThrow('invalid_blocks');
    await expect(always.show(card)).rejects.toThrow('invalid_blocks');
    expect(always.kinds()).toEqual([1, 0, 1, 0]);
    const gone = start(() => refusal('is_archived'));
    await expect(gone.show(card)).rejects.toThrow('is_archived');
    expect(gone.kinds()).toEqual([1]);
    const lost = start(() => new webApi.WebAPIHTTPError(503, 'Unavailable', {}, 'upstream error'));
    await expect(lost.show(card)).rejects.toThrow();
    expect(lost.kinds()).toEqual([1]);
  });
});

/** Slack with a bot that watches a service that has summed up some hours. */
async function runWithHours() {
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const rollups = [4, 3, 2, 1].map((ago) => ({
    ...{ starts_at: new Date(nowMs - ago * HOUR_MS).toISOString(), checks: 60, failures: 0 },
    ...{ response_time_ms: { min: 1, mean: ago * 100, max: 900 }, up_ms: HOUR_MS, down_ms: 0 },
  }));
  const monitor = counting('a', 1, { name: HOSTILE });
  const watched = await startAdditions([monitor], (what) =>
    what === 'rollups' ? { body: { by: 'hour', rollups } } : { status: 404, body: {} },
  );
  const running = await makeSlack();
  const { bot } = await startTestBot({ watched });
  await running.slack.start(bot);
  onTestFinished(() => bot.stop());
  return running;
}

describe('/monitor show', () => {
  test('shows the chart in the channel, its hostile name in its own words', async () => {
    const { fake } = await runWithHours();
    await fake.slash('/monitor', 'show a');
    const [shown] = await eventually(
      () => fake.messages(CHANNEL).length === 1 && fake.messages(CHANNEL),
    );
    const [chart] = chartsIn(shown?.blocks);
    expect(chart && isChartRight(chart)).toBe(true);
    expect(shown && shownText(shown)).toMatch(/Response time, last 24 hours\nFrom \(UTC\)\nms\n/);
    expect(shown?.text).toContain('100 ms to 400 ms');
    expect(shown?.called).toEqual([]);
    expect(fake.calls.every(({ outcome }) => outcome === 'ok')).toBe(true);
  });
});

test('the fake refuses what Slack refuses of a chart', () => {
  const right = renderChart(chartOf([1, 2])) as unknown as ChartBlock & { chart: object };
  const axis = { categories: ['a', 'b'], x_label: 'x' };
  const data = [
    { label: 'a', value: 1 },
    { label: 'b', value: -2 },
  ];
  const chart = (given: object) => ({
    ...right,
    chart: { type: 'line', series: [{ name: 'n', data }], axis_config: axis, ...given },
  });
  const problem = (...blocks: object[]) => blocksProblem(blocks);
  expect(problem(right)).toBeUndefined();
  expect(problem(chart({}), chart({}))).toBeUndefined();
  expect(problem(right, right, right)).toBe('invalid_blocks');
  for (const wrong of [
    { ...right, title: 'x'.repeat(51) },
    { ...right, title: '' },
    chart({ type: 'scatter' }),
    chart({ series: [] }),
    chart({ series: [{ name: 'x'.repeat(21), data }] }),
    chart({
      series: [
        { name: 'n', data },
        { name: 'n', data },
      ],
    }),
    chart({ series: [{ name: 'n', data: data.slice(1) }] }),
    chart({ series: [{ name: 'n', data: [data[0], { label: 'b', value: null }] }] }),
    chart({ series: [{ name: 'n', data: [data[0], { label: 'c', value: 1 }] }] }),
    chart({ axis_config: { ...axis, y_label: 'x'.repeat(51) } }),
    chart({ axis_config: { categories: Array.from({ length: 21 }, (_, at) => `${at}`) } }),
  ]) {
    expect(problem(wrong)).toBe('invalid_blocks');
  }
});
