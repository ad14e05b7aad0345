import { expect, onTestFinished } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import { textCard } from '../../../src/bot/shared/card.ts';
import {
  type Answer,
  type AnswerPart,
  type Invocation,
  type ShownAnswer,
  type TakenOver,
  toAsker,
} from '../../../src/bot/shared/invocation.ts';
import type { ConsoleEvent } from '../../../src/console/shared/api-types.ts';
import { type ModelProvider, startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { eventually } from '../eventually.ts';
import { startCuttableProxy } from '../postgres/proxy.ts';
import { storedEvents, testDatabase } from '../postgres/test-database.ts';
import { openTab, startTestConsole, type Tab, type TestConsole } from './test-console.ts';

/** So that a process is thought dead within a test's time. */
const SHORT = { times: { ttlMs: 4_000, beatMs: 300 } };

/** One of several consoles on one database, each with a bot of its own. */
export interface Replica extends TestConsole {
  name: string;
  /** Cuts it off from its database at once, as a kill or a standstill does: what waits to be stored or told does so on. */
  cutOff(): void;
  /** Goes on after a standstill. */
  thaw(): void;
  /** Hears so much later what the database answers. */
  slowDown(ms: number): void;
  /** From now on its answers are not its own any more. */
  lose(): void;
}

/** What the core of the bots keeps of an answer under way. */
interface UnderWay {
  by: Replica | undefined;
  invocation: Invocation;
  isPrivate: boolean;
  shown: ShownAnswer | undefined;
}

/** Starts consoles as replicas do. `core` stands for what the cores of real bots do together, as far as consoles see it. */
export async function startReplicas(count: number) {
  const { open, query, hold, url } = await testDatabase();
  const provider: ModelProvider = await startModelProvider();
  const service = await startMonitoringService({ limit: false });
  onTestFinished(async () => {
    await provider.close();
    await service.close();
  });
  const underWay = new Map<string, UnderWay>();
  /** Who has given a private answer, and alone has it. */
  const privateBy = new Map<string, Replica>();
  let repeats = 0;

  /** As another process hands it on, with nothing of what the person may do. */
  async function takeOver(by: Replica, invocation: Invocation, dispatch: TakenOver['dispatch']) {
    const { mayManage: _, ...person } = invocation.person;
    await by.console.takeOver?.({
      invocation: { ...invocation, person },
      async dispatch(again) {
        expect(again.person.mayManage).toBeDefined();
        return await dispatch(again);
      },
    });
  }

  async function start(name: string, options: { hasBot?: boolean } = {}): Promise<Replica> {
    const proxy = await startCuttableProxy(url, { passesNotifications: true });
    let isDead = false;
    let self: Replica | undefined;

    /** The answer, noted where all replicas look. */
    function noted(answer: Answer, invocation: Invocation): Answer {
      const { id } = answer;
      const entry: UnderWay = { by: self, invocation, isPrivate: answer.private, shown: undefined };
      underWay.set(id, entry);
      if (answer.private && self) privateBy.set(id, self);
      const isOurs = () => !isDead && underWay.get(id) === entry;
      async function* stream(thread?: string, signal?: AbortSignal): AsyncGenerator<AnswerPart> {
        for await (const part of answer.stream(thread, signal)) {
          if (part.kind === 'end' && answer.private && isOurs()) underWay.delete(id);
          else if (!isOurs()) return yield { kind: 'lost' };
          yield part;
        }
      }
      return {
        ...answer,
        // A private one is done with its last part.
        isOurs: () => isOurs() || (answer.private && !isDead && !underWay.has(id)),
        stream,
        async begin(where) {
          entry.shown = { beganAtMs: Date.now(), shown: {}, ...where };
        },
        async ended() {
          if (isOurs()) underWay.delete(id);
        },
      };
    }

    const wrapBot = (bot: Bot): Bot => ({
      ...bot,
      async answersIn({ channel }, thread) {
        return [...underWay].flatMap(([id, { invocation, shown }]) =>
          invocation.place.channel === channel && shown?.thread === thread ? [id] : [],
        );
      },
      async dispatch(invocation, onStored) {
        const { request } = invocation;
        const pressed = 'command' in request ? request.values.answer : undefined;
        const sharer = privateBy.get(String(pressed));
        if (sharer && sharer !== self) {
          await takeOver(sharer, invocation, (again) => sharer.bot.dispatch(again));
          onStored?.();
          return { kind: 'nothing' };
        }
        const holder = underWay.get(String(pressed))?.by;
        const asked = holder && holder !== self ? holder.bot : bot;
        const reply = await asked.dispatch(invocation, onStored);
        return reply.kind === 'answer' ? noted(reply, invocation) : reply;
      },
    });
    const started = await startTestConsole({
      ...{ provider, service, wrapBot },
      // Its bot leaves to `core` what the bots of several processes do together.
      store: { ...(await open({ ...SHORT, url: proxy.url })), isShared: false },
      ...options,
    });
    self = {
      ...started,
      name,
      cutOff: proxy.cut,
      thaw: proxy.restore,
      slowDown: proxy.delay,
      lose() {
        isDead = true;
      },
    };
    // Before stores are closed, which wait for what they have to write.
    onTestFinished(proxy.restore);
    return self;
  }

  const replicas: Replica[] = [];
  for (let no = 0; no < count; no += 1) replicas.push(await start('abcdef'.charAt(no)));

  /** What the core of a replica does with what a dead one has left. */
  async function takeOverFrom(dead: Replica, by: Replica): Promise<void> {
    for (const [id, { by: from, invocation, isPrivate, shown }] of [...underWay]) {
      if (from !== dead) continue;
      await takeOver(by, invocation, async (again) => {
        underWay.delete(id);
        if (isPrivate) return toAsker(textCard('warning', 'Interrupted', 'Ask again.'));
        // The claim of the dead one is not over yet here, and the text is asked for anew.
        repeats += 1;
        const reply = await by.bot.dispatch({ ...again, id: `${again.id} again ${repeats}` });
        if (reply.kind !== 'answer') return reply;
        underWay.set(id, { by, invocation, isPrivate, shown });
        return {
          ...reply,
          shownBefore: shown,
          async begin() {},
          async ended() {
            underWay.delete(id);
          },
        };
      });
    }
  }

  /** What the log of the console holds, as somebody hears it; the first is numbered `from`. */
  async function told(person: string | undefined, from: number) {
    const events = await storedEvents<{ person?: string; event: ConsoleEvent }>(
      query,
      'console-events',
    );
    return events
      .filter(({ number }) => number >= from)
      .filter(({ body: { person: only } }) => only === undefined || only === person)
      .map(({ number, body: { event } }) => ({ number, event }));
  }

  return { replicas, start, takeOverFrom, told, query, hold, open, provider, service };
}

/** A browser that listens at a replica, and goes on at another one with what it missed. */
export async function openReader(url: string) {
  const past: Tab[] = [];
  let tab = await openTab(url);
  await eventually(() => tab.heard.length > 0);
  const person = tab.heard[0]?.kind === 'snapshot' ? tab.heard[0].person.id : '';
  const numberOf = (id: string) => Number(id.split('-')[1]);
  const begin = numberOf(tab.lastEventId);
  /** All that was heard after the beginning. */
  const heard = () =>
    [...past, tab]
      .flatMap((one) =>
        one.heard.map((event, at) => ({ number: numberOf(one.eventIds[at] ?? ''), event })),
      )
      .slice(1);
  return {
    person,
    begin,
    heard,
    tab: () => tab,
    cookie: () => tab.cookie,
    /** Its connection is gone, and it comes to another replica. */
    async moveTo(other: string) {
      const { cookie, lastEventId } = tab;
      tab.close();
      past.push(tab);
      tab = await openTab(other, {
        cookie,
        lastEventId: lastEventId || past.at(-2)?.lastEventId || '',
      });
    },
  };
}
export type Reader = Awaited<ReturnType<typeof openReader>>;

/** Each has heard all of the log from its beginning on: nothing lost, doubled or out of order. */
export async function expectAllHeard(
  readers: readonly Reader[],
  told: (
    person: string | undefined,
    from: number,
  ) => Promise<Array<{ number: number; event: ConsoleEvent }>>,
): Promise<void> {
  for (const { person, begin, heard } of readers) {
    await eventually(async () => {
      const all = await told(person, begin + 1);
      // More may be told while it is looked.
      expect(heard()).toEqual(all);
      return true;
    });
  }
}
