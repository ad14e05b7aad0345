import { setTimeout as pause } from 'node:timers/promises';
import { DiscordAPIError } from 'discord.js';
import { describe, expect, test } from 'vitest';
import type { Answer, AnswerPart } from '../../src/bot/platform.ts';
import type { Outlet } from '../../src/discord/outlet.ts';
import { showAnswer } from '../../src/discord/show-answer.ts';
import { recordingLog } from '../support/recording-log.ts';

/** An answer of these parts; one that never ends by itself when there is no end among them. */
function answerOf(parts: AnswerPart[]): Answer {
  return {
    kind: 'answer',
    question: 'Why?',
    private: false,
    async *stream(_thread, signal) {
      for (const part of parts) yield part;
      if (parts.at(-1)?.kind === 'end') return;
      for (let word = 0; !signal?.aborted; word += 1) {
        yield { kind: 'text', text: ` ${word}` };
        await pause(5);
      }
      yield { kind: 'end', note: 'Stopped.', footer: 'model' };
    },
  };
}

/** Keeps messages in memory; `fail` is thrown instead of the next edits while it gives an error. */
function memoryOutlet(fail: () => Error | undefined = () => undefined) {
  const messages: string[] = [];
  const nonces: string[] = [];
  const outlet: Outlet = {
    async send(content, nonce) {
      nonces.push(nonce);
      messages.push(content);
      return String(messages.length - 1);
    },
    async edit(message, content) {
      const error = fail();
      if (error) throw error;
      messages[Number(message)] = content;
    },
  };
  return { outlet, messages, nonces };
}

const show = (answer: Answer, outlet: Outlet) =>
  showAnswer({ answer, thread: '1', outlet, editIntervalMs: 5, log: recordingLog().log });

const refused = (code: number) =>
  new DiscordAPIError({ code, message: 'no' }, code, 404, 'PATCH', 'https://discord.com/x', {
    body: undefined,
    files: undefined,
  });

test('note and footer end the last message', async () => {
  const { outlet, messages } = memoryOutlet();
  const end = { kind: 'end' as const, note: 'Cut *short*.', footer: 'model · 1 s' };
  await show(answerOf([{ kind: 'text', text: 'Because.' }, end]), outlet);
  expect(messages).toEqual(['Because.\n*Cut \\*short\\*.*\n-# model · 1 s']);
});

test('note and footer stand alone where the last message is full, and where there is none', async () => {
  const full = memoryOutlet();
  const end = { kind: 'end' as const, note: 'n'.repeat(150), footer: 'model' };
  await show(answerOf([{ kind: 'text', text: 'x'.repeat(1_900) }, end]), full.outlet);
  expect(full.messages).toEqual(['x'.repeat(1_900), `*${'n'.repeat(150)}*\n-# model`]);
  const none = memoryOutlet();
  await show(answerOf([{ kind: 'end', note: 'No answer.', footer: '' }]), none.outlet);
  expect(none.messages).toEqual(['*No answer.*']);
});

test('each message has a nonce of its own that Discord takes', async () => {
  const { outlet, nonces } = memoryOutlet();
  const end = { kind: 'end' as const, footer: 'model' };
  await show(answerOf([{ kind: 'text', text: 'word '.repeat(1_000) }, end]), outlet);
  expect(nonces.length).toBeGreaterThan(2);
  expect(new Set(nonces).size).toBe(nonces.length);
  for (const nonce of nonces) expect(nonce.length).toBeLessThanOrEqual(25);
});

describe('an answer that outlasts what Discord allows', () => {
  test('ends in time, and says why', async () => {
    const { outlet, messages } = memoryOutlet();
    const limited = { ...outlet, untilMs: Date.now() + 1_000 };
    await show(answerOf([{ kind: 'text', text: 'Long' }]), limited);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(
      /^Long 0 1 .*\n\*Discord takes changes .* 15 minutes .*\*\n-# model$/,
    );
  });
});

describe('an answer that cannot be shown', () => {
  test('is not generated further once its message is gone', async () => {
    const { outlet } = memoryOutlet(() => refused(10_008));
    await expect(show(answerOf([{ kind: 'text', text: 'Long' }]), outlet)).rejects.toThrow('no');
  });

  test('goes on after a trouble that passed', async () => {
    let troubles = 3;
    const { outlet, messages } = memoryOutlet(() =>
      troubles-- > 0 ? new Error('socket closed') : undefined,
    );
    const limited = { ...outlet, untilMs: Date.now() + 1_000 };
    await show(answerOf([{ kind: 'text', text: 'Long' }]), limited);
    expect(messages[0]).toMatch(/^Long 0 1 .*-# model$/s);
  });
});

test('a message that was posted though the answer was lost gets the newest text', async () => {
  const posted = new Map<string, string>();
  let troubles = 1;
  const outlet: Outlet = {
    async send(content, nonce) {
      if (!posted.has(nonce)) posted.set(nonce, content);
      if (troubles-- > 0) throw new Error('socket closed');
      return nonce;
    },
    async edit(message, content) {
      posted.set(message, content);
    },
  };
  const end = { kind: 'end' as const, footer: 'model' };
  await show(answerOf([{ kind: 'text', text: 'Because.' }, end]), outlet);
  expect([...posted.values()]).toEqual(['Because.\n-# model']);
});
