// The best that Node can do: a bare pass-through that reads nothing. The bench starts it with the upstream's port.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

const CONNECTIONS = 256;

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, {
  connections: CONNECTIONS,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
});

const server = createServer({ keepAliveTimeout: 65_000, noDelay: true }, (request, response) => {
  let resume: () => void = () => {};
  pool.dispatch(
    {
      method: 'POST',
      path: request.url ?? '/',
      headers: {
        'content-type': request.headers['content-type'] ?? '',
        'content-length': request.headers['content-length'] ?? '0',
      },
      body: request,
    },
    // The older of undici's two handlers: it is called directly, the newer one through a wrapper.
    {
      onConnect() {},
      onHeaders(status, rawHeaders, resumeUpstream) {
        resume = resumeUpstream;
        response.writeHead(status, contentHeaders(rawHeaders));
        return true;
      },
      onData(chunk) {
        if (response.write(chunk)) return true;
        response.once('drain', resume);
        return false;
      },
      onComplete() {
        response.end();
      },
      onError() {
        response.destroy();
      },
    },
  );
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}.\n`);
});
process.once('SIGTERM', () => process.exit(0));
// The bench holds the other end: when it is gone, so is this.
process.stdin.resume().once('end', () => process.exit(0));

/** The type and length of the content, as the flat list that `writeHead` takes. */
function contentHeaders(rawHeaders: readonly Buffer[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toString('latin1') ?? '';
    if (name.length > 7 && name.slice(0, 8).toLowerCase() === 'content-') {
      kept.push(name, rawHeaders[at + 1]?.toString('latin1') ?? '');
    }
  }
  return kept;
}
