import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Platform } from '../../../src/bot/platform.ts';
import { type Card, decodeAction, encodeAction } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { createScriptedPlatform, type ShownMessage } from '../../helpers/bot/scripted-platform.ts';
import { startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { startCuttableProxy } from '../../helpers/postgres/proxy.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

const PLACES = ['C1', 'C2'].map((channel) => ({ platform: 'slack', channel }));

/** So that a process is thought dead within a test's time. */
const SHORT = { ttlMs: 1_500, beatMs: 300 };

/** What happens to a request of whoever sends. */
const FAULTS = [
  /** Its process can reach the database no more, before the platform takes it. */
  'cut before',
  /** The platform takes it, and its process cannot store that. */
  'cut after',
  /** The process is cut off, another has taken over by the time that the platform takes it. */
  'cut, and late',
  /** The platform takes it and says nothing. */
  'answer lost',
  'refused once',
] as const;
type Fault = (typeof FAULTS)[number];

/** A request takes no longer. */
const REQUEST_MS = 10_000;

/** Three bots on one database, each with its own way there, over one platform and one monitoring service. */
async function startReplicas(count = 3) {
  const database = await testDatabase();
  const provider = await startModelProvider();
  const service = await startMonitoringService({ limit: false });
  const slack = createScriptedPlatform('slack');
  const doubled: string[] = [];
  const cuts: number[] = [];
  const requests: Array<{ by: number; what: string }> = [];
  let fault: Fault | undefined;

  async function add(no: number) {
    const link = await startCuttableProxy(database.url, { passesNotifications: true });
    const { url } = link;
    const store = await database.open({ url, directUrl: url, times: SHORT });
    const settings = { alertPlaces: PLACES, alertPollMs: 100 };
    const running = await startTestBot({ store, provider, service, settings });

    async function meet<R>(what: string, request: () => Promise<R>): Promise<R> {
      requests.push({ by: no, what });
      const met = fault;
      fault = undefined;
      const take = () =>
        request().catch((error: Error) => {
          if (/twice|never posted/.test(error.message)) doubled.push(error.message);
          throw error;
        });
      if (met === undefined) return await take();
      if (met === 'refused once') throw new DeliveryError('busy', { permanent: false });
      if (met === 'answer lost') {
        await take();
        throw new Error('no answer');
      }
      link.cut();
      cuts.push(Date.now());
      if (met === 'cut after') await take();
      if (met === 'cut, and late') {
        await eventually(() => requests.length > 0 && holderOf() !== no);
        await pause(500);
        await take();
      }
      await pause(REQUEST_MS);
      throw new Error('no answer');
    }

    const platform: Platform = {
      ...slack,
      post: (post) =>
        meet(`post ${post.id}`, async () => {
          const isThere = () => slack.messages.some(({ id }) => id === post.id);
          // As on Slack: a message that isn't there yet may still arrive.
          if (post.attempted && !isThere()) await pause(post.landsInMs ?? 0);
          return await slack.post(post);
        }),
      update: (...update) => meet('update', () => slack.update(...update)),
      announce: (line) => meet(`announce ${line.id}`, () => slack.announce(line)),
    };
    await running.bot.start([platform]);
    return { ...running, no, link };
  }

  const bots = await Promise.all(Array.from({ length: count }, (_, no) => add(no)));
  let holder: number | undefined;
  /** Whose lines of the log said last that it sends. */
  const holderOf = () => holder;
  const watching = setInterval(() => {
    for (const { no, lines, link } of bots) {
      const said = lines.map(({ msg }) => String(msg)).filter((msg) => msg.includes('alerts'));
      if (!link.isCut() && said.at(-1)?.includes('now sends')) holder = no;
    }
  }, 20);
  onTestFinished(() => clearInterval(watching));

  return {
    ...{ database, service, slack, bots, doubled, requests, holderOf, cuts },
    inject(next: Fault) {
      fault = next;
    },
    isMet: () => fault === undefined,
  };
}

const aboutIn = (messages: readonly ShownMessage[], channel: string, name: string) =>
  messages.filter((one) => one.channel === channel && textOf(one.card).includes(name));

function actionOf(card: Card, label: string) {
  const action = card.actions?.find((one) => one.label === label);
  const request = action && decodeAction(encodeAction(action));
  if (!request) throw new Error(`There is no button ${label}.`);
  return request;
}

describe.skipIf(!hasPostgres)('alerts of three processes on one database', () => {
  test('are told once and in order, whoever of them dies in the middle of what', {
    timeout: 600_000,
  }, async () => {
    const { service, slack, bots, doubled, inject, isMet, requests, cuts } = await startReplicas();
    const random = createRandom(seed());
    service.add({ name: 'Other' });
    await eventually(() => service.requests.length > 2);
    const story: Array<Fault | undefined> = [
      ...(['cut after', 'refused once', 'cut, and late', 'cut, and late', 'answer lost'] as const),
      ...Array.from({ length: long ? 40 : 0 }, () => undefined),
    ];
    for (const [round, given] of story.entries()) {
      const fault = given ?? FAULTS[Math.floor(random() * FAULTS.length)] ?? 'cut after';
      const name = `Shop${round}x`;
      const shop = service.add({ name });
      const seen = service.requests.length;
      await eventually(() => service.requests.length > seen + 1);
      const hitsPost = round % 2 === 0;
      if (hitsPost) inject(fault);
      service.setStatus(shop.id, 'DOWN');
      const isDown = ({ channel }: { channel: string }) =>
        aboutIn(slack.messages, channel, name).some(({ card }) => card.title.includes('is down'));
      await eventually(() => PLACES.every(isDown) && isMet());
      for (const { link } of bots) link.restore();

      // Somebody presses, wherever that is heard.
      const presser = bots[Math.floor(random() * bots.length)];
      const [message] = aboutIn(slack.messages, 'C1', name);
      if (!presser || !message) throw new Error('nothing to press');
      if (!hitsPost) inject(fault);
      await eventually(async () => {
        const reply = await presser.bot
          .dispatch({
            id: `press ${round} ${random()}`,
            request: actionOf(message.card, 'Acknowledge'),
            place: { platform: 'slack', channel: 'C1' },
            person: { id: 'U1', name: 'Ada' },
          })
          .catch(() => undefined);
        return reply?.kind === 'nothing';
      });
      const isShown = ({ channel }: { channel: string }) =>
        aboutIn(slack.messages, channel, name).every(({ card }) =>
          /acknowledged by:? Ada/i.test(textOf(card)),
        );
      await eventually(() => PLACES.every(isShown) && isMet());
      service.setStatus(shop.id, 'UP');
      const isOver = ({ channel }: { channel: string }) =>
        aboutIn(slack.messages, channel, name).every(({ card }) => card.tone === 'good');
      await eventually(() => PLACES.every(isOver));
      for (const { link } of bots) link.restore();
    }
    // What was late came meanwhile, or never comes.
    await pause(1_000);
    expect(doubled).toEqual([]);
    for (const { channel } of PLACES) {
      for (const round of story.keys()) {
        const about = aboutIn(slack.messages, channel, `Shop${round}x`);
        expect(about).toHaveLength(1);
        const titles = about[0]?.titles ?? [];
        expect(titles.findLastIndex((title) => title.includes('is down'))).toBeLessThan(
          titles.findIndex((title) => !title.includes('is down')),
        );
        expect(about[0]?.card.tone).toBe('good');
      }
    }
    const turns = requests.filter(({ by }, at) => at > 0 && requests[at - 1]?.by !== by);
    expect(turns.length).toBeGreaterThanOrEqual(cuts.length - 1);
  });

  test('tell of five hundred monitors in two messages a channel when their sender dies in between', {
    timeout: 300_000,
  }, async () => {
    const { service, slack, doubled, inject, isMet, requests } = await startReplicas();
    const monitors = Array.from({ length: 500 }, (_, no) => service.add({ name: `Shop${no}x` }));
    const seen = service.requests.length;
    await eventually(() => service.requests.length > seen + 3);
    inject('cut after');
    for (const { id } of monitors) service.setStatus(id, 'DOWN');
    const isTold = ({ channel }: { channel: string }) =>
      slack.messages.some((one) => one.channel === channel && one.card.title.includes('500'));
    await eventually(() => isMet() && PLACES.every(isTold), { withinMs: 120_000 });
    // Whoever follows knows no better than to say it again.
    const hasTurned = () => new Set(requests.map(({ by }) => by)).size === 2;
    await eventually(hasTurned, { withinMs: 120_000 });
    await pause(1_000);
    for (const { channel } of PLACES) {
      expect(slack.messages.filter((one) => one.channel === channel).length).toBeLessThanOrEqual(2);
    }
    expect(doubled).toEqual([]);
  });
});
