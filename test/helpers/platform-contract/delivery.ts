import { describe, expect, test } from 'vitest';
import type { Platform } from '../../../src/bot/platform.ts';
import type { Card, CardPart } from '../../../src/bot/shared/card.ts';

/** A channel that a platform posts alerts in, over calls that a test makes fail. */
export interface DeliveryWorld {
  channel: string;
  platform: Pick<Platform, 'post' | 'update' | 'announce'>;
  lines: Array<Record<string, unknown>>;
  /** A group or role, and a person, as a card mentions them. */
  group: string;
  person: string;
  /** Messages of the channel and lines under them, oldest first. */
  shown(): Array<{ id: string; text: string; notified: string[] }>;
  /** Replies to a message, oldest first. A quiet one isn't shown in the channel, too, and doesn't ring. */
  replies(message: string): Array<{ id: string; text: string; notified: string[]; quiet: boolean }>;
  /** The next post is stored, and its answer lost. */
  loseAnswer(how: 'status' | 'drop'): void;
  /** The next look into the channel fails. */
  failLook(): void;
  remove(message: string): void;
}

const ALERT: Card = { tone: 'bad', title: 'Shop is down', parts: [] };
const OVER: Card = { tone: 'good', title: 'Shop recovered after 5 minutes', parts: [] };
/** More hostile findings than any platform shows. */
const HOSTILE_FINDINGS: CardPart = {
  kind: 'findings',
  heading: '<!channel> @everyone',
  items: Array.from({ length: 200 }, (_, index) => ({
    ...{ atMs: index, text: '<!here> <@U00ADA> @here [x](javascript:alert(1)) <https://evil|x>' },
    url: index % 2 === 0 ? 'https://grafana.example/<!channel>@everyone' : 'javascript:alert(1)',
  })),
};
const HOSTILE_LINKS: CardPart = {
  kind: 'facts',
  facts: ['https://ci.example/<!here>', 'javascript:alert(1)'].map((url) => ({
    ...{
      label: 'Deploy',
      value: { text: '<!channel> @everyone [x](https://evil) <@U00ADA>', url },
    },
  })),
};
const TEMPORARY = { name: 'DeliveryError', permanent: false };

/** Alerts and the lines under them, which every platform posts alike. `notGroups` are mentions that notify nobody. */
export function testDelivery(
  open: () => Promise<DeliveryWorld>,
  { notGroups }: { notGroups: readonly string[] },
): void {
  async function start() {
    const world = await open();
    const { platform, channel } = world;
    const post = { channel, card: ALERT, id: 'a1', attempted: false };
    return {
      ...world,
      texts: () => world.shown().map(({ text }) => text),
      notified: () => world.shown().map((one) => one.notified),
      post: (more: Partial<Parameters<Platform['post']>[0]> = {}) =>
        platform.post({ ...post, ...more }),
      async startLine(card = ALERT) {
        const posted = await platform.post({ ...post, card });
        const line = { channel, posted, card: OVER, id: 'a1/end', attempted: false };
        const announce = (more: Partial<Parameters<Platform['announce']>[0]> = {}) =>
          platform.announce({ ...line, ...more });
        return { posted, announce };
      },
    };
  }

  describe.each(['status', 'drop'] as const)('when the answer to a post is lost (%s)', (how) => {
    test('an alert that was stored is found, and not posted again', async () => {
      const { post, loseAnswer, shown } = await start();
      loseAnswer(how);
      await expect(post()).rejects.toMatchObject(TEMPORARY);
      const posted = await post({ attempted: true });
      expect(shown().map(({ id }) => id)).toEqual([posted.message]);
    });

    test('a line that was stored is found, and another line is posted', async () => {
      const { startLine, loseAnswer, shown } = await start();
      const { announce } = await startLine();
      loseAnswer(how);
      await expect(announce()).rejects.toMatchObject(TEMPORARY);
      await announce({ attempted: true });
      expect(shown()).toHaveLength(2);
      await announce({ id: 'a1/again', card: ALERT, attempted: true });
      expect(shown()).toHaveLength(3);
    });

    test('a card under an alert is found in its thread, notifies nobody and is changed there', async () => {
      const { channel, platform, startLine, post, loseAnswer, replies, texts, person } =
        await start();
      const { posted: under } = await startLine();
      const findings = { ...ALERT, title: 'Looking into it', mention: person, goesOn: true };
      const found = {
        ...findings,
        title: 'The disk is full',
        parts: [HOSTILE_LINKS, HOSTILE_FINDINGS],
      };
      const reply = { id: 'a1/findings', card: findings, under };
      loseAnswer(how);
      await expect(post(reply)).rejects.toMatchObject(TEMPORARY);
      const posted = await post({ ...reply, attempted: true });
      expect(posted).toMatchObject({ thread: under.thread, goesOn: true });
      const quiet = { id: posted.message, notified: [], quiet: true };
      const shown = expect.stringMatching(/^(🔴 )?Looking into it$/u);
      expect(replies(under.message)).toEqual([{ ...quiet, text: shown }]);
      await platform.update(channel, posted, found);
      const changed = expect.stringContaining('The disk is full');
      expect(replies(under.message)).toEqual([{ ...quiet, text: changed }]);
      await post({ ...reply, id: 'a1/found', card: found });
      expect(replies(under.message)[1]).toMatchObject({ notified: [], quiet: true });
      expect(texts()[0]).toContain('Shop is down');
    });
  });

  test.each([true, false])(
    'a found alert says whether what it shows is ongoing: %s',
    async (goesOn) => {
      const { post, loseAnswer, shown } = await start();
      loseAnswer('drop');
      await expect(post({ card: { ...ALERT, goesOn } })).rejects.toMatchObject(TEMPORARY);
      const later = { card: { ...ALERT, goesOn: !goesOn }, attempted: true };
      expect(await post(later)).toMatchObject({ goesOn });
      expect(await post({ ...later, id: 'another' })).toMatchObject({ goesOn: !goesOn });
      expect(shown()).toHaveLength(2);
    },
  );

  test('an attempted alert or line that isn’t found is posted', async () => {
    const { post, startLine, texts } = await start();
    const { announce } = await startLine();
    await post({ id: 'another', attempted: true });
    await announce({ attempted: true });
    expect(texts()).toEqual([
      ...[1, 2].map(() => expect.stringContaining('Shop is down')),
      expect.stringContaining('Shop recovered'),
    ]);
  });

  test('an alert isn’t posted while its look-up fails', async () => {
    const { post, failLook, shown } = await start();
    failLook();
    await expect(post({ attempted: true })).rejects.toMatchObject(TEMPORARY);
    expect(shown()).toEqual([]);
  });

  test('a deleted alert can neither be changed nor get a line', async () => {
    const { channel, platform, startLine, remove, shown } = await start();
    const { posted, announce } = await startLine();
    remove(posted.message);
    const refusal = { name: 'DeliveryError', permanent: true };
    await expect(platform.update(channel, posted, OVER)).rejects.toMatchObject({
      ...refusal,
      message: expect.stringContaining('The message was deleted.'),
    });
    for (const attempted of [false, true]) {
      const tried = announce({ attempted });
      await expect(tried).rejects.toMatchObject(refusal);
      await expect(tried).rejects.toThrow(/The (message|thread) was deleted\./);
    }
    expect(shown()).toEqual([]);
  });

  test('a card under a deleted alert is refused, and posted nowhere else', async () => {
    const { startLine, post, remove, shown, replies } = await start();
    const { posted: under } = await startLine();
    remove(under.message);
    for (const attempted of [false, true]) {
      const tried = post({ id: 'a1/findings', under, attempted });
      await expect(tried).rejects.toMatchObject({ name: 'DeliveryError', permanent: true });
      await expect(tried).rejects.toThrow(/The (message|thread) was deleted\./);
    }
    expect([...shown(), ...replies(under.message)]).toEqual([]);
  });

  test('a group is notified when its alert is posted, and by no change and no line', async () => {
    const { channel, platform, startLine, notified, group } = await start();
    const { posted, announce } = await startLine({ ...ALERT, mention: group });
    expect(notified()).toEqual([[group]]);
    await platform.update(channel, posted, { ...OVER, mention: group });
    await announce();
    expect(notified()).toEqual([[group], []]);
  });

  test('a person is notified by an alert and by a line under it, and nobody else is', async () => {
    const { startLine, notified, shown, person } = await start();
    const card = { ...ALERT, title: '@everyone <!channel> <@U00BOB>', mention: person };
    const { announce } = await startLine(card);
    const line = { card, mention: person, id: 'a1/escalation' };
    await announce(line);
    expect(notified()).toEqual([[person.slice(1)], [person.slice(1)]]);
    await announce({ ...line, attempted: true });
    expect(shown()).toHaveLength(2);
  });

  test.each(notGroups)('the mention “%s” notifies nobody, and the log says so', async (mention) => {
    const { channel, platform, startLine, notified, texts, lines } = await start();
    const { posted } = await startLine({ ...ALERT, mention });
    await platform.update(channel, posted, { ...ALERT, mention });
    expect(notified()).toEqual([[]]);
    expect(texts()).toEqual([expect.stringMatching(/^(🔴 )?Shop is down$/u)]);
    expect(lines).toContainEqual(expect.objectContaining({ level: 40, mention }));
  });
}
