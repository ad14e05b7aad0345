import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createDnsClient, parseResolver } from '../../../src/monitoring/checks/dns-query.ts';
import { startDnsServer } from '../../fakes/dns-server.ts';
import { closedPort } from '../../fakes/web-target.ts';

/** Passes every question over UDP to `on`; returns the address. */
async function listen(on: (query: Buffer, from: RemoteInfo, socket: Socket) => void) {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => on(query, from, socket));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

/** An answer with one address. */
function answerTo(query: Buffer, lastByte: number): Buffer {
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, lastByte]);
  const answer = Buffer.concat([query, record]);
  answer.writeUInt16BE(0x8180, 2);
  answer.writeUInt16BE(1, 6);
  return answer;
}

const ask = (client: ReturnType<typeof createDnsClient>, server?: string, name = 'a.example') =>
  client.ask(
    server === undefined ? undefined : parseResolver(server),
    { name, type: 'A' },
    { signal: AbortSignal.timeout(10_000), timeoutMs: 1_000 },
  );

test('believes only the server that it asked', async () => {
  const other = createSocket('udp4');
  other.bind(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const server = await listen((query, from, socket) => {
    other.send(answerTo(query, 66), from.port, '127.0.0.1', () =>
      socket.send(answerTo(query, 1), from.port),
    );
  });
  expect(await ask(createDnsClient(), server)).toMatchObject({ records: [['192.0.2.1']] });
});

test('throws for an answer code that no monitor can expect', async () => {
  const server = await listen((query, from, socket) => {
    const answer = answerTo(query, 1);
    answer.writeUInt16BE(0x8189, 2);
    socket.send(answer, from.port);
  });
  await expect(ask(createDnsClient(), server)).rejects.toMatchObject({ code: 'answer code 9' });
});

test('asks the resolvers of the system one after another until one answers', async () => {
  const silent = await startDnsServer(() => 'silence');
  const good = await startDnsServer(() => [['192.0.2.1']]);
  const spare = await startDnsServer(() => [['192.0.2.2']]);
  const refusing = `127.0.0.1:${await closedPort()}`;
  const systemServers = () => [refusing, silent.address, good.address, spare.address];
  expect(await ask(createDnsClient({ systemServers }))).toMatchObject({
    records: [['192.0.2.1']],
  });
  expect([silent, good, spare].map(({ questions }) => questions.length)).toEqual([1, 1, 0]);
});

test('an answered failure of the first resolver is the answer', async () => {
  const failing = await startDnsServer(() => 'SERVFAIL');
  const good = await startDnsServer(() => [['192.0.2.1']]);
  const systemServers = () => [failing.address, good.address];
  expect(await ask(createDnsClient({ systemServers }))).toEqual({
    rcode: 'SERVFAIL',
    records: [],
  });
});

test('throws the error of the last resolver if none answers', async () => {
  const systemServers = () => closed;
  const closed = [`127.0.0.1:${await closedPort()}`, `127.0.0.1:${await closedPort()}`];
  await expect(ask(createDnsClient({ systemServers }))).rejects.toMatchObject({
    code: 'ECONNREFUSED',
  });
});
