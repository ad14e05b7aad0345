import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

/** Source: Alertmanager's `api/v2/openapi.yaml`, `postableSilence`. */
const Wanted = z.object({
  id: z.string().optional(),
  matchers: z
    .array(
      z.object({
        name: z.string().min(1),
        value: z.string(),
        isRegex: z.boolean(),
        isEqual: z.boolean().default(true),
      }),
    )
    .min(1),
  startsAt: z.iso.datetime({ offset: true }),
  endsAt: z.iso.datetime({ offset: true }),
  createdBy: z.string(),
  comment: z.string(),
});

export interface FakeSilence extends z.output<typeof Wanted> {
  id: string;
  state: 'active' | 'expired';
}

/** A fault of a request or its response. */
type Trouble = (
  method: string,
) => 'refuse' | 'fail' | 'hang' | 'lose the answer' | 'break' | undefined;

/** The silences of an Alertmanager, with its refusals. */
export async function startFakeAlertmanager({ credentials }: { credentials?: string } = {}) {
  const silences: FakeSilence[] = [];
  const requests: string[] = [];
  let trouble: Trouble = () => undefined;
  let release = () => {};
  let held = new Promise<void>((resolve) => {
    release = resolve;
  });

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { method = '', url = '' } = request;
    const path = new URL(url, 'http://fake').pathname;
    requests.push(`${method} ${path}`);
    const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
    if (wanted && request.headers.authorization !== wanted) {
      response.writeHead(401).end('Unauthorized\n');
      return;
    }
    const body = await text(request);
    const what = trouble(method);
    if (what === 'break') return void request.socket.destroy();
    if (what === 'refuse') return json(response, 400, 'bad matcher format: <@here> no');
    if (what === 'fail') return json(response, 500, 'disk is full');
    if (what === 'hang') await held;
    const found = done(method, path, body);
    if (what === 'lose the answer') return void request.socket.destroy();
    json(response, found.status, found.body);
  }

  function done(method: string, path: string, body: string): { status: number; body?: unknown } {
    if (path === '/api/v2/silences' && method === 'GET') {
      return {
        status: 200,
        body: silences.map(({ state, ...silence }) => ({ ...silence, status: { state } })),
      };
    }
    if (path === '/api/v2/silences' && method === 'POST') {
      const read = Wanted.safeParse(JSON.parse(body));
      if (!read.success) return { status: 400, body: { code: 602, message: 'invalid silence' } };
      if (Date.parse(read.data.endsAt) <= Date.now()) {
        return { status: 400, body: 'failed to create silence: end time must not be in the past' };
      }
      const id = randomUUID();
      silences.push({ ...read.data, id, state: 'active' });
      return { status: 200, body: { silenceID: id } };
    }
    const id = /^\/api\/v2\/silence\/(.+)$/.exec(path)?.[1];
    const silence = silences.find((one) => one.id === id);
    if (method !== 'DELETE' || !silence) return { status: 404 };
    if (silence.state === 'expired') return { status: 500, body: `silence ${id} already expired` };
    silence.state = 'expired';
    return { status: 200 };
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${credentials ? `${credentials}@` : ''}127.0.0.1:${port}`,
    silences,
    /** Method and path of each, oldest first. */
    requests,
    /** From now on; nothing when it gives `undefined`. */
    make(next: Trouble) {
      trouble = next;
    },
    /** Continues hanging requests. */
    release() {
      release();
      held = new Promise((resolve) => {
        release = resolve;
      });
    },
    close,
  };
}

function json(response: ServerResponse, status: number, body?: unknown) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
