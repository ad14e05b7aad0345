import { expect, onTestFinished, test } from 'vitest';
import type { OtherServer } from '../../../../src/bot/tool-servers/known-server.ts';
import { createOtherTools } from '../../../../src/bot/tool-servers/other-tools.ts';
import { startToolServer } from '../../../fakes/tool-server.ts';
import { otherServer } from '../../../helpers/bot/other-tools.ts';
import { CHANNEL } from '../../../helpers/bot.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { recordingLog } from '../../../helpers/recording-log.ts';
import { openTestStore } from '../../../helpers/test-store.ts';

const READING = { annotations: { readOnlyHint: true } };

/** The tools of one server, `docs`, once it has been read: two that read, and one that doesn't say so. */
async function offered(allowed: Partial<OtherServer>) {
  const { url } = await startToolServer({
    tools: [{ name: 'find', ...READING }, { name: 'look', ...READING }, { name: 'deploy' }],
  });
  const tools = ['find', 'look', 'deploy'];
  const { log } = recordingLog();
  const servers = [otherServer('docs', { url, tools, ...allowed })];
  const service = createOtherTools({ servers, store: await openTestStore({ log }), log });
  onTestFinished(() => service.stop());
  service.start();
  await eventually(async () => (await service.offerIn(CHANNEL)).tools.length === tools.length);
  const place = (channel: string) => ({ ...CHANNEL, channel });
  return async (channel = CHANNEL.channel) => {
    const offer = await service.offerIn(place(channel), { byItself: true });
    return { names: offer.tools.map(({ name }) => name), missing: offer.missing };
  };
}

test('an investigation gets only the tools that the operator allowed for it', async () => {
  const none = await offered({});
  expect(await none()).toEqual({ names: [], missing: [] });
  const some = await offered({ investigate: ['find'] });
  expect(await some()).toEqual({ names: ['docs__find'], missing: [] });
});

test('an investigation gets no tool that may change something, and learns why', async () => {
  const byMark = await offered({ investigate: ['find', 'deploy'] });
  const missing = ['deploy from docs may change something, so an investigation can’t use it'];
  expect(await byMark()).toEqual({ names: ['docs__find'], missing });
  const byOperator = await offered({ investigate: ['look', 'deploy'], writes: ['deploy'] });
  expect(await byOperator()).toEqual({ names: ['docs__look'], missing });
});

test('an investigation gets a tool without a mark if the operator listed the ones that change something', async () => {
  const offer = await offered({ investigate: ['deploy'], writes: ['look'] });
  expect(await offer()).toEqual({ names: ['docs__deploy'], missing: [] });
});

test('an investigation gets tools only in their channels', async () => {
  const offer = await offered({ investigate: ['find'], channels: [CHANNEL] });
  expect((await offer()).names).toEqual(['docs__find']);
  expect((await offer('elsewhere')).names).toEqual([]);
});
