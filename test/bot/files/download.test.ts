import type { RequestListener } from 'node:http';
import { createGzip } from 'node:zlib';
import { expect, test } from 'vitest';
import { download } from '../../../src/bot/files/download.ts';
import { FileError } from '../../../src/bot/shared/shared-file.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startElsewhere } from '../../helpers/files/elsewhere.ts';

/** A host of a platform, and the tokens that it received. */
async function startHost(listener: RequestListener) {
  const { url: origin, requests } = await startWebTarget(listener);
  return { origin, heard: () => requests.map(({ headers }) => headers.authorization) };
}

const NEVER = new AbortController().signal;

/** Reads as much as this of what is there. */
async function read(
  address: string,
  {
    origin,
    signal = NEVER,
    most = 1_000_000,
  }: { origin: string; signal?: AbortSignal; most?: number },
) {
  const parts: Uint8Array[] = [];
  let length = 0;
  const isAllowed = (url: URL) => url.origin === origin;
  for await (const part of download(address, { isAllowed, authorization: 'Bearer t', signal })) {
    parts.push(part);
    length += part.length;
    if (length >= most) break;
  }
  return Buffer.concat(parts);
}

test('streams the file and sends the token', async () => {
  const host = await startHost((_request, response) => response.end('here'));
  expect(String(await read(`${host.origin}/a`, host))).toBe('here');
  expect(host.heard()).toEqual(['Bearer t']);
});

test('follows a redirect within the host, without the token', async () => {
  const host = await startHost(({ url }, response) => {
    if (url === '/b') response.end('moved here');
    else response.writeHead(302, { location: '/b' }).end('moved');
  });
  expect(String(await read(`${host.origin}/a`, host))).toBe('moved here');
  expect(host.heard()).toEqual(['Bearer t', undefined]);
});

test.each([301, 302, 303, 307, 308])('follows no %d to another host', async (status) => {
  const elsewhere = await startElsewhere();
  const location = `${elsewhere.url}/x`;
  const host = await startHost((_request, response) =>
    response.writeHead(status, { location }).end(),
  );
  await expect(read(`${host.origin}/a`, host)).rejects.toThrow(/does not fetch files/);
  expect(elsewhere.heard).toEqual([]);
});

test('refuses endless redirects', async () => {
  const host = await startHost((_request, response) =>
    response.writeHead(302, { location: '/again' }).end(),
  );
  await expect(read(`${host.origin}/a`, host)).rejects.toThrow(/redirects too many times/);
  expect(host.heard()).toHaveLength(4);
});

test.each([
  'http://169.254.169.254/latest',
  'http://localhost/x',
  'file:///etc/passwd',
  'data:text/plain,x',
  'not an address',
  '',
])('asks nothing at %s', async (address) => {
  const { origin } = await startHost((_request, response) => response.end('here'));
  await expect(read(address, { origin })).rejects.toThrow(FileError);
});

test('refuses an address with a name and password', async () => {
  const host = await startHost((_request, response) => response.end('here'));
  const address = `${host.origin.replace('//', '//user:password@')}/a`;
  await expect(read(address, host)).rejects.toThrow(/does not fetch files/);
  expect(host.heard()).toEqual([]);
});

test.each([
  [404, /no longer there/, true],
  [410, /no longer there/, true],
  [403, /no access to it/, true],
  [500, /status 500/, false],
  [429, /status 429/, false],
])('says what a status of %d means', async (status, why, isGone) => {
  const host = await startHost((_request, response) => response.writeHead(status).end('x'));
  const error = await read(`${host.origin}/a`, host).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'FileError', isGone, message: expect.stringMatching(why) });
});

test('reports a broken connection', async () => {
  const host = await startHost(({ url, socket }, response) => {
    if (url === '/middle') response.write('begin', () => socket.destroy());
    else socket.destroy();
  });
  await expect(read(`${host.origin}/once`, host)).rejects.toThrow(/the connection was lost/);
  await expect(read(`${host.origin}/middle`, host)).rejects.toThrow(/the connection was lost/);
});

test('throws the signal’s reason while nothing arrives', async () => {
  const gone = new AbortController();
  const host = await startHost((_request, response) => response.write('begin'));
  const reading = read(`${host.origin}/a`, { ...host, signal: gone.signal });
  await eventually(() => host.heard().length === 1);
  gone.abort(new Error('stopped'));
  await expect(reading).rejects.toThrow('stopped');
});

test('stops reading a small file that unpacks without end', async () => {
  let isLeft = false;
  const host = await startHost((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const packed = createGzip();
    const more = () => {
      while (!response.destroyed && packed.write(Buffer.alloc(1_000_000))) {}
    };
    packed.on('drain', more);
    packed.pipe(response).on('close', () => {
      isLeft = true;
      packed.destroy();
    });
    more();
  });
  const bytes = await read(`${host.origin}/a`, { ...host, most: 100_000 });
  expect(bytes.length).toBeLessThan(1_000_000);
  await eventually(() => isLeft);
});
