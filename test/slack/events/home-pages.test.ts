import { webApi } from '@slack/bolt';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Home } from '../../../src/bot/home/home.ts';
import type { Card, CardAction } from '../../../src/bot/shared/card.ts';
import { createHomePages } from '../../../src/slack/events/home-pages.ts';
import { parseHomePress } from '../../../src/slack/events/parse-events.ts';
import { type HomeNotice, renderHome } from '../../../src/slack/render/render-home.ts';
import { createWorkspace } from '../../../src/slack/workspaces/workspace.ts';
import { type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

const PERSON = 'U00ADA';

const cardOf = (title: string): Card => ({ tone: 'info', title, parts: [] });
const homeOf = (title: string): Home => ({ now: cardOf(title), channels: [], more: 0 });
const channelOf = ({ channel }: { channel: string }) => channel;

/** A workspace spoken to by the real client, with a clock that is set by hand. */
async function start() {
  const fake = await startSlack();
  const clock = { nowMs: 1_000 };
  const client = new webApi.WebClient(fake.botToken, {
    slackApiUrl: fake.apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
  });
  const workspace = createWorkspace({
    client,
    fetch,
    self: { userId: fake.botUserId, teamId: 'T00FAKE', name: 'Askwatch' },
    paces: {
      editMs: 1,
      appendMs: 20,
      streamMs: 210_000,
      alertMs: 1,
      retryMs: 1,
      storeMs: 1,
      drainMs: 1,
    },
    log: recordingLog().log,
    onRefused() {},
  });
  vi.spyOn(performance, 'now').mockImplementation(() => clock.nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const pages = createHomePages();
  let title = 'first';
  let makes = 0;
  const publish = (notice?: HomeNotice) =>
    pages.publish(
      { workspace, person: PERSON },
      async (shown) => {
        makes += 1;
        return renderHome(homeOf(title), { notice: shown, channelOf });
      },
      notice,
    );
  return {
    fake,
    clock,
    publish,
    makes: () => makes,
    show(text: string) {
      title = text;
    },
  };
}

const times = (fake: SlackFake) => fake.home.shown(PERSON)?.times;

test('the same home is published again after a minute, another one at once', async () => {
  const { fake, clock, publish, show } = await start();
  await publish();
  await publish();
  clock.nowMs += 59_999;
  await publish();
  expect(times(fake)).toBe(1);
  clock.nowMs += 1;
  await publish();
  expect(times(fake)).toBe(2);
  show('second');
  await publish();
  expect(times(fake)).toBe(3);
  expect(fake.home.text(PERSON)).toContain('second');
});

test('calls that come while a home is being made share one more', async () => {
  const { fake, publish, makes, show } = await start();
  const all = [publish()];
  show('second');
  for (let count = 0; count < 20; count += 1) all.push(publish());
  await Promise.all(all);
  expect(makes()).toBe(2);
  expect(fake.home.text(PERSON)).toContain('second');
});

test('a notice stays for a minute, however often the home is opened', async () => {
  const { fake, clock, publish } = await start();
  await publish({ card: cardOf('Changed'), channel: 'C00OPS' });
  clock.nowMs += 59_999;
  await publish();
  expect(fake.home.text(PERSON)).toMatch(/#C00OPS.*Changed.*first/s);
  clock.nowMs += 1;
  await publish();
  expect(fake.home.text(PERSON)).not.toContain('Changed');
});

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 4_000 }),
  fc.constantFrom('', ' ', '<!channel>', '\u202e', 'x'.repeat(20_000), '🧨'.repeat(3_000)),
);
const part: fc.Arbitrary<Card['parts'][number]> = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), text }),
  fc.record({ kind: fc.constant('code' as const), text }),
  fc.record({
    kind: fc.constant('facts' as const),
    facts: fc.array(fc.record({ label: text, value: text }), { maxLength: 5 }),
  }),
  fc.record({
    kind: fc.constant('table' as const),
    columns: fc.array(text, { maxLength: 4 }),
    rows: fc.array(fc.array(text, { maxLength: 4 }), { maxLength: 4 }),
  }),
);
const parts = fc.array(part, { maxLength: 30 });
const card: fc.Arbitrary<Card> = fc.record({
  tone: fc.constantFrom('good' as const, 'bad' as const),
  title: text,
  parts,
});
const place = fc.record({
  platform: fc.constant('slack' as const),
  channel: fc.oneof(text, fc.constantFrom('C1', 'D1')),
});

test('Slack takes every home, whatever is in it and however much', async () => {
  const fake = await startSlack();
  const client = new webApi.WebClient(fake.botToken, { slackApiUrl: fake.apiUrl });
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        now: card,
        help: card,
        channels: fc.array(fc.record({ place, parts, actions: fc.constant<CardAction[]>([]) }), {
          maxLength: 60,
        }),
        more: fc.nat(),
      }),
      fc.option(fc.record({ card, channel: text }), { nil: undefined }),
      async (home, notice) => {
        const view = renderHome(home, { notice, channelOf });
        expect(await client.views.publish({ user_id: PERSON, view })).toMatchObject({ ok: true });
      },
    ),
    { numRuns: 60 },
  );
  expect(fake.home.shown(PERSON)?.times).toBe(60);
});
test('a press in a home has its person and its trigger; anything else is none', () => {
  const press = {
    type: 'block_actions',
    user: { id: 'U1', name: 'ada' },
    trigger_id: '1.2.3',
    view: { id: 'V1', type: 'home' },
    container: { type: 'view', view_id: 'V1' },
    actions: [{ type: 'button', action_ts: '1.1', value: 'home form?form=askwatch+model' }],
  };
  expect(parseHomePress(press)).toEqual({
    trigger: '1.2.3',
    person: { id: 'U1', name: 'ada' },
    command: 'home form',
    values: { form: 'askwatch model' },
  });
  for (const other of [
    { ...press, type: 'view_submission' },
    { ...press, view: { id: 'V1', type: 'modal' } },
    { ...press, view: undefined },
    { ...press, user: {} },
    { ...press, trigger_id: 7 },
    { ...press, actions: [{ type: 'static_select', value: 'home form?' }] },
    { ...press, actions: [{ type: 'button', value: 'x'.repeat(200) }] },
  ]) {
    expect(parseHomePress(other)).toBeUndefined();
  }
  fc.assert(
    fc.property(fc.anything(), (anything) => {
      expect(parseHomePress(anything)).toBeUndefined();
    }),
  );
});
