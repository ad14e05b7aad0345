import { describe, expect, test } from 'vitest';
import type { TokenLimits, UsageBooks, UsageRecord } from '../../../src/store/usage.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

/** A request of this moment that has ended. */
export function requestOf(keyId: string, tokens = 0, more: Partial<UsageRecord> = {}): UsageRecord {
  return {
    ...{ atMs: Date.now(), keyId, model: 'one', provider: 'openai', estimated: false },
    ...{ promptTokens: tokens, completionTokens: 0, latencyMs: 5, end: 'complete' },
    ...more,
  };
}

const nothing = {
  ...{ requests: 0, complete: 0, client_gone: 0, upstream_error: 0, refused: 0 },
  ...{ promptTokens: 0, completionTokens: 0, estimated: 0 },
};

const daysAgo = (days: number) => Date.now() - days * 86_400_000;
const dayOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);

/** Books on fresh data, and the same data as another process finds it once this one has ended. */
export interface OpenedBooks {
  books: UsageBooks;
  reopen(): Promise<UsageBooks>;
}

/** Promises that the books of every engine keep. */
export function describeBooks(engine: string, open: () => Promise<OpenedBooks>): void {
  /** Used and reserved tokens of a key. */
  async function told(books: UsageBooks, keyId = 'a') {
    const { minute, day, month, reserved } = await books.spending(keyId);
    return { minute: minute.used(performance.now()), day, month, reserved };
  }

  describe(`the books of ${engine}`, () => {
    test('set tokens aside until their request is entered, and count then what it has used', async () => {
      const { books, reopen } = await open();
      const { hold, spending } = await books.reserve('a', 70, { tokensPerDay: 100 });
      expect([hold?.tokens, spending.day, spending.reserved]).toEqual([70, 0, 70]);
      expect(await told(books)).toEqual({ minute: 0, day: 0, month: 0, reserved: 70 });
      expect(await told(books, 'b')).toMatchObject({ reserved: 0 });
      books.addRequest(requestOf('a', 30), hold);
      const after = { minute: 30, day: 30, month: 30, reserved: 0 };
      await eventuallyEquals(() => told(books), after);
      expect(books.known('a')?.day).toBe(30);
      const again = await reopen();
      expect(await told(again)).toMatchObject({ day: 30, month: 30, reserved: 0 });
    });

    test.each<[string, TokenLimits]>([
      ['minute', { tokensPerMinute: 100, tokensPerDay: 1_000 }],
      ['day', { tokensPerDay: 100, tokensPerMonth: 1_000 }],
      ['month', { tokensPerMonth: 100, tokensPerMinute: 1_000 }],
    ])(
      'refuse what does not fit into the %s, with what is set aside for others',
      async (_name, limits) => {
        const { books } = await open();
        const first = await books.reserve('a', 60, limits);
        const refused = await books.reserve('a', 41, limits);
        expect([refused.hold, refused.spending.reserved]).toEqual([undefined, 60]);
        const second = await books.reserve('a', 40, limits);
        expect(second.hold?.tokens).toBe(40);
        books.addRequest(requestOf('a', 55), first.hold);
        await eventuallyEquals(async () => (await told(books)).reserved, 40);
        expect((await books.reserve('a', 6, limits)).hold).toBeUndefined();
        expect((await books.reserve('a', 5, limits)).hold?.tokens).toBe(5);
        expect((await books.reserve('b', 100, limits)).hold?.tokens).toBe(100);
      },
    );

    test('replace what was set aside before by what is set aside now, or by nothing', async () => {
      const { books } = await open();
      const limits = { tokensPerDay: 100 };
      const first = await books.reserve('a', 90, limits);
      const larger = await books.reserve('a', 100, limits, first.hold);
      expect([larger.hold?.tokens, larger.spending.reserved]).toEqual([100, 100]);
      const refused = await books.reserve('a', 101, limits, larger.hold);
      expect([refused.hold, await told(books)]).toMatchObject([undefined, { reserved: 0 }]);
    });

    test('take back what was set aside for a request that was entered before', async () => {
      const { books } = await open();
      const { hold } = await books.reserve('a', 90, { tokensPerDay: 100 });
      books.addRequest(requestOf('a', 10));
      if (hold) books.giveBack('a', hold);
      await eventuallyEquals(async () => (await told(books)).reserved, 0);
      expect(await told(books)).toMatchObject({ day: 10 });
    });

    test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, 1e300])(
      'set %d tokens aside for nobody',
      async (tokens) => {
        const { books } = await open();
        expect((await books.reserve('a', tokens, { tokensPerDay: 10 })).hold).toBeUndefined();
        expect(await told(books)).toMatchObject({ reserved: 0 });
      },
    );

    test('count requests by day, key and model, also of days that are over, and after they were opened again', async () => {
      const { books, reopen } = await open();
      books.addRequest(requestOf('b', 2, { model: 'two' }));
      books.addRequest(
        requestOf('a', 3, { provider: 'groq', completionTokens: 4, estimated: true }),
      );
      books.addRequest(requestOf('a', 5));
      books.addRequest(
        requestOf('a', 0, { end: 'refused', model: undefined, provider: undefined }),
      );
      books.addRequest(requestOf('a', 1, { end: 'client_gone' }));
      const day = dayOf(Date.now());
      const ofA = [
        {
          ...nothing,
          ...{ day, keyId: 'a', model: 'one', requests: 3, complete: 2, client_gone: 1 },
          ...{ promptTokens: 9, completionTokens: 4, estimated: 1 },
        },
        { ...nothing, day, keyId: 'a', model: 'unknown', requests: 1, refused: 1 },
      ];
      const ofB = {
        ...{ ...nothing, day, keyId: 'b', model: 'two', requests: 1, complete: 1 },
        promptTokens: 2,
      };
      await eventuallyEquals(() => books.summary({ fromDay: day, toDay: day }), [...ofA, ofB]);
      expect(await books.summary({})).toEqual([...ofA, ofB]);
      expect(await books.summary({ keyId: 'a', fromDay: dayOf(daysAgo(1_000)) })).toEqual(ofA);
      expect(await books.summary({ toDay: dayOf(daysAgo(1)) })).toEqual([]);
      expect(await (await reopen()).summary({ keyId: 'a' })).toEqual(ofA);
    });
  });
}
