import { setTimeout as pause } from 'node:timers/promises';
import { DiscordAPIError } from 'discord.js';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Answer, AnswerPart, AnswerStep } from '../../../src/bot/shared/invocation.ts';
import type { AnswerMessage, AnswerTarget } from '../../../src/discord/answers/answer-target.ts';
import { showAnswer } from '../../../src/discord/answers/show-answer.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

const STOP = { label: 'Stop', command: 'answer stop', values: { answer: '1' } };

/** An answer of these parts; one that never ends by itself when there is no end among them. `shown` is awaited after a text and after a step that begins. */
function answerOf(parts: AnswerPart[], shown = async (): Promise<unknown> => undefined): Answer {
  return {
    kind: 'answer',
    id: '1',
    begin: async () => {},
    ended: async () => {},
    putOff: async () => {},
    question: 'Why?',
    private: false,
    actions: [STOP],
    async *stream(_thread, signal) {
      for (const part of parts) {
        yield part;
        if (part.kind === 'text') await shown();
        if (part.kind === 'step' && part.step.state === 'running') await shown();
      }
      if (parts.at(-1)?.kind === 'end') return;
      for (let word = 0; !signal?.aborted; word += 1) {
        yield { kind: 'text', text: ` ${word}` };
        await pause(5);
      }
      yield { kind: 'end', note: 'Stopped.', footer: 'model' };
    },
  };
}

const callOf = (what: string, { content, components }: AnswerMessage) => {
  const labels = components.flatMap((row) =>
    row.components.map((button) => ('label' in button ? button.label : '')),
  );
  return `${what} ${content.slice(0, 3)}: ${labels}`;
};

/** Keeps messages in memory; `fail` is thrown instead of the next edits while it gives an error. */
function memoryOutlet(fail: () => Error | undefined = () => undefined) {
  const messages: string[] = [];
  const nonces: string[] = [];
  /** Calls with their buttons. */
  const calls: string[] = [];
  /** Text of each call. */
  const contents: string[] = [];
  const target: AnswerTarget = {
    channel: '1',
    async send(message, nonce) {
      nonces.push(nonce);
      messages.push(message.content);
      contents.push(message.content);
      calls.push(callOf('send', message));
      return String(messages.length - 1);
    },
    sendCard: () => Promise.reject(new Error('This answer has no cards.')),
    async edit(id, message) {
      const error = fail();
      if (error) throw error;
      messages[Number(id)] = message.content;
      contents.push(message.content);
      calls.push(callOf(`edit ${id}`, message));
    },
    async remove(id) {
      messages.splice(Number(id), 1);
      calls.push(`remove ${id}`);
    },
  };
  let seen = 0;
  /** Resolves once a growing message is shown. */
  const shown = () =>
    eventually(() => {
      const isShown = calls.length > seen && calls.at(-1)?.endsWith(': Stop');
      if (isShown) seen = calls.length;
      return isShown;
    });
  return { target, messages, nonces, calls, contents, shown };
}

const show = (answer: Answer, target: AnswerTarget) =>
  showAnswer({
    answer,
    thread: '1',
    target,
    editIntervalMs: 5,
    log: recordingLog().log,
    encryptToken: (token) => token,
  });

const refused = (code: number) =>
  new DiscordAPIError({ code, message: 'no' }, code, 404, 'PATCH', 'https://discord.com/x', {
    body: undefined,
    files: undefined,
  });

test('note and footer end the last message', async () => {
  const { target, messages } = memoryOutlet();
  const end = { kind: 'end' as const, note: 'Cut *short*.', footer: 'model · 1 s' };
  await show(answerOf([{ kind: 'text', text: 'Because.' }, end]), target);
  expect(messages).toEqual(['Because.\n*Cut \\*short\\*.*\n-# model · 1 s']);
});

test('note and footer stand alone where the last message is full, and where there is none', async () => {
  const full = memoryOutlet();
  const end = { kind: 'end' as const, note: 'n'.repeat(150), footer: 'model' };
  await show(answerOf([{ kind: 'text', text: 'x'.repeat(1_900) }, end]), full.target);
  expect(full.messages).toEqual(['x'.repeat(1_900), `*${'n'.repeat(150)}*\n-# model`]);
  const none = memoryOutlet();
  await show(answerOf([{ kind: 'end', note: 'No answer.', footer: '' }]), none.target);
  expect(none.messages).toEqual(['*No answer.*']);
});

test('each message has a nonce of its own that Discord takes', async () => {
  const { target, nonces } = memoryOutlet();
  const end = { kind: 'end' as const, footer: 'model' };
  await show(answerOf([{ kind: 'text', text: 'word '.repeat(1_000) }, end]), target);
  expect(nonces.length).toBeGreaterThan(2);
  expect(new Set(nonces).size).toBe(nonces.length);
  for (const nonce of nonces) expect(nonce.length).toBeLessThanOrEqual(25);
});

describe('buttons', () => {
  test('go with the end of an answer that has none', async () => {
    const { target, calls, shown } = memoryOutlet();
    const bare = { kind: 'end' as const, footer: '' };
    await show(answerOf([{ kind: 'text', text: 'Because.' }, bare], shown), target);
    expect(calls).toEqual(['send Bec: Stop', 'edit 0 Bec: ']);
  });
});

describe('what is looked at for an answer', () => {
  const end = { kind: 'end' as const, footer: 'model' };
  const stepOf = (step: Partial<AnswerStep>): AnswerPart => ({
    kind: 'step',
    step: { id: '1', what: 'all monitors', state: 'done', ...step },
  });
  const text = (words: string): AnswerPart => ({ kind: 'text', text: words });
  const incidents = 'incidents of the last 7 days';

  /** The last message of an answer with these steps. */
  async function lastWith(...steps: Partial<AnswerStep>[]): Promise<string | undefined> {
    const { target, messages } = memoryOutlet();
    const parts = steps.map((step, index) => stepOf({ id: String(index), ...step }));
    await show(answerOf([...parts, text('Because.'), end]), target);
    return messages.at(-1);
  }

  test('stands alone, then below the text, until the text goes on, and in a line above the footer', async () => {
    const { target, contents, shown } = memoryOutlet();
    const parts = [
      stepOf({ state: 'running', what: incidents }),
      stepOf({ what: incidents, found: '12, as of 15:20 UTC' }),
      text('Because'),
      stepOf({ id: '2', state: 'running' }),
      stepOf({ id: '2', state: 'failed', found: 'the service does not answer' }),
      text(' so.'),
    ];
    await show(answerOf([...parts, end], shown), target);
    const found = `${incidents} (12, as of 15:20 UTC) · all monitors (the service does not answer)`;
    expect(contents).toEqual([
      `-# Looking up ${incidents}…`,
      'Because',
      'Because\n-# Looking up all monitors…',
      'Because so.',
      `Because so.\n-# Looked up ${found}\n-# model`,
    ]);
  });

  test('leaves an answer typing until there is text', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { target, shown } = memoryOutlet();
    let typed = 0;
    const counts: number[] = [];
    const typing = async () => {
      typed += 1;
    };
    const parts = [stepOf({ state: 'running' }), text('Because.'), end];
    const answer = answerOf(parts, async () => {
      await shown();
      vi.advanceTimersByTime(10_000);
      counts.push(typed);
    });
    await show(answer, { ...target, typing });
    expect(counts).toEqual([2, 2]);
  });
  test('links to its page, and nowhere else', async () => {
    const url = 'https://status.example/shop';
    const links = [
      [{ what: 'Shop', url }, `[Shop](<${url}>)`],
      [
        { what: 'Shop', url: 'https://a.example/?(b)<c>"\\d`' },
        '[Shop](<https://a.example/?%28b%29%3Cc%3E%22%5cd%60>)',
      ],
      [
        { what: 'Shop', url: 'https://a.example/x)> @everyone' },
        '[Shop](<https://a.example/x%29%3E%20%40everyone>)',
      ],
      [{ what: 'Shop', url: 'javascript:alert(1)' }, 'Shop'],
      [{ what: 'Shop', url: 'https://bank.example@evil.example/' }, 'Shop'],
      [{ what: 'Shop', url: `https://a.example/${'x'.repeat(200)}` }, 'Shop'],
      [{ what: 'bank.example', url }, 'bank.example'],
    ] as const;
    for (const [step, shown] of links) {
      expect(await lastWith(step)).toBe(`Because.\n-# Looked up ${shown}\n-# model`);
    }
  });

  test('is text, whatever a monitor is called', async () => {
    const hostile =
      '@everyone [x](https://evil)\n# **b** `c` https://evil.example](<https://evil>)';
    const shown =
      '＠everyone \\[x\\]\\(https\\://evil\\) \\# \\*\\*b\\*\\* \\`c\\` https\\://evil.example\\]\\(\\<https\\://evil\\>\\)';
    const step = { what: hostile, found: hostile, url: 'https://status.example/1' };
    expect(await lastWith(step)).toBe(`Because.\n-# Looked up ${shown} (${shown})\n-# model`);
    const named = '@everyone **b** `c` [x]';
    expect(await lastWith({ ...step, what: named, found: 'UP' })).toContain(
      '[＠everyone \\*\\*b\\*\\* \\`c\\` \\[x\\]](<https://status.example/1>) (UP)',
    );
    const { target, contents, shown: seen } = memoryOutlet();
    await show(answerOf([stepOf({ state: 'running', what: hostile }), end], seen), target);
    expect(contents[0]).toMatch(
      /^-# Looking up ＠everyone \\\[x\\\]\\\(https\\:\/\/evil\\\) [^\n]*…$/,
    );
  });

  test('is counted where there is too much of it, and one that is not over is left away', async () => {
    const long = { what: '*'.repeat(2_000), found: '_'.repeat(2_000), url: 'https://a.example/' };
    const last = await lastWith(long, long, long, { what: 'short', state: 'running' });
    expect(last).toMatch(
      /^Because\.\n-# Looked up \[[\\*]+…\]\(<https:\/\/a\.example\/>\) \([\\_]+…\) and 2 more\n-# model$/,
    );
    expect(last?.length).toBeLessThan(600);
    const many = Array.from({ length: 200 }, (_, index) => ({ what: `m${index}` }));
    expect(await lastWith(...many)).toMatch(/ · m84 and 115 more\n-# model$/);
    expect(await lastWith({ state: 'running' })).toBe('Because.\n-# model');
  });
});

describe('an answer that outlasts what Discord allows', () => {
  test('ends in time, and says why', async () => {
    const { target, messages } = memoryOutlet();
    const limited = { ...target, untilMs: Date.now() + 1_000 };
    await show(answerOf([{ kind: 'text', text: 'Long' }]), limited);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(
      /^Long 0 1 .*\n\*Discord allows edits .* 15 minutes, .*\*\n-# model$/,
    );
  });
});

describe('an answer that cannot be shown', () => {
  test('is not generated further once its message is gone', async () => {
    const { target } = memoryOutlet(() => refused(10_008));
    await expect(show(answerOf([{ kind: 'text', text: 'Long' }]), target)).rejects.toThrow('no');
  });

  test('goes on after a trouble that passed', async () => {
    let troubles = 3;
    const { target, messages } = memoryOutlet(() =>
      troubles-- > 0 ? new Error('socket closed') : undefined,
    );
    const limited = { ...target, untilMs: Date.now() + 1_000 };
    await show(answerOf([{ kind: 'text', text: 'Long' }]), limited);
    expect(messages[0]).toMatch(/^Long 0 1 .*-# model$/s);
  });
});

test('a message that was posted though the answer was lost gets the newest text', async () => {
  const posted = new Map<string, string>();
  let troubles = 1;
  const target: AnswerTarget = {
    channel: '1',
    async send({ content }, nonce) {
      if (!posted.has(nonce)) posted.set(nonce, content);
      if (troubles-- > 0) throw new Error('socket closed');
      return nonce;
    },
    sendCard: () => Promise.reject(new Error('This answer has no cards.')),
    async edit(id, { content }) {
      posted.set(id, content);
    },
    async remove(id) {
      posted.delete(id);
    },
  };
  const end = { kind: 'end' as const, footer: 'model' };
  await show(answerOf([{ kind: 'text', text: 'Because.' }, end]), target);
  expect([...posted.values()]).toEqual(['Because.\n-# model']);
});
