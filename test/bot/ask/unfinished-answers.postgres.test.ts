import { expect, onTestFinished, test } from 'vitest';
import { createConversations } from '../../../src/bot/ask/conversations.ts';
import { openUnfinishedAnswers } from '../../../src/bot/ask/unfinished-answers.ts';
import { systemClock } from '../../../src/bot/shared/clock.ts';
import type { Interrupted, Invocation } from '../../../src/bot/shared/invocation.ts';
import { openSeenInvocations } from '../../../src/bot/shared/seen-invocations.ts';
import { LeaseLostError } from '../../../src/store/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

const KIND = { isQuestion: true, private: false };

const invocationOf = (id: string): Invocation => ({
  id,
  request: { line: '/ask why?' },
  place: { platform: 'slack', channel: 'C1' },
  person: { id: 'U1', name: 'Ada' },
  origin: { ts: '171.1' },
});

/** The parts of a bot that keep questions, under a lease that it takes as soon as that is free. */
async function begin(store: Store, log: Parameters<typeof openUnfinishedAnswers>[1]['log']) {
  const lease = await eventually(() => store.lease('bot'));
  const under = store.under(lease);
  const conversations = createConversations(under);
  const seenInvocations = openSeenInvocations(under);
  const timing = { clock: systemClock, random: Math.random };
  const parts = { conversations, seenInvocations, ...timing, log };
  const unfinished = await openUnfinishedAnswers(under, parts);
  onTestFinished(() => unfinished.stop());
  return {
    lease,
    seenInvocations,
    unfinished,
    async show(id: string) {
      const invocation = invocationOf(id);
      const handling = await seenInvocations.once(invocation, KIND);
      if (!handling) throw new Error(`${id} is a repeat.`);
      const question = { kind: 'answer', id: `answer ${id}`, question: 'why?' } as const;
      const answer = { ...question, private: false, async *stream() {} };
      const noted = unfinished.track(answer, invocation, handling);
      await noted.begin({ thread: 't1', shown: { message: 'm1' } });
      return noted;
    },
  };
}

test.skipIf(!hasPostgres)(
  'what is left under one lease is told once under the next, in the same process and in another',
  async () => {
    const { open, log } = await testDatabase();
    const [store, other] = [await open(), await open()];
    const first = await begin(store, log);
    await first.seenInvocations.once(invocationOf('unshown'), KIND);
    await first.show('shown');
    await (await first.show('ended')).ended();
    await first.lease.release();
    // Late calls store nothing.
    const late = first.seenInvocations.once(invocationOf('late'), KIND);
    await expect(late).rejects.toThrow(LeaseLostError);
    await expect(first.seenInvocations.finish('unshown')).rejects.toThrow(LeaseLostError);

    const second = await begin(store, log);
    for (const id of ['unshown', 'shown', 'ended']) {
      expect(await second.seenInvocations.once(invocationOf(id), KIND)).toBeUndefined();
    }
    await second.lease.release();

    const third = await begin(other, log);
    const told: Interrupted[] = [];
    const tell = async (one: Interrupted) => void told.push(one);
    third.unfinished.start([{ name: 'slack', endAnswer: tell }]);
    await eventually(() => told.length === 2);
    const where = { channel: 'C1', person: 'U1', private: false, origin: { ts: '171.1' } };
    expect(told).toMatchObject([
      { ...where, id: 'answer shown', thread: 't1', shown: { message: 'm1' } },
      { ...where, invocation: 'unshown', note: expect.stringContaining('Ask again') },
    ]);
    expect(await third.seenInvocations.once(invocationOf('late'), KIND)).toBeDefined();
    await third.unfinished.stop();
    await third.seenInvocations.finish('late');
    await third.lease.release();

    const fourth = await begin(store, log);
    fourth.unfinished.start([{ name: 'slack', endAnswer: tell }]);
    await fourth.unfinished.stop();
    expect(told).toHaveLength(2);
  },
);
