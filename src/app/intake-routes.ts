import type { AlertIntake, IntakeAnswer } from '../bot/intake/intake.ts';
import { MAX_BODY_BYTES } from '../bot/intake/read-body.ts';
import type { ServerKit } from '../http/server.ts';
import type { HttpReply, HttpRequest, HttpServer } from '../http/server-types.ts';

/** Bodies that are read or waited for at the same time. */
const MAX_READING_BYTES = 64 * 1024 * 1024;

/** What one is taken for whose length nobody has said. */
const UNKNOWN_BYTES = 256 * 1024;

/** A body with the routing key in it is read before anybody knows who sends it. Source: PagerDuty, Events API v2. */
const MAX_EVENT_BYTES = 512 * 1024;

type Kept = HttpRequest & { intake?: Parameters<AlertIntake['receive']>[0]; readingBytes?: number };

/**
 * Adds the routes by which alerts of other systems come in. Who sends is looked at before a body is read, and bodies that are
 * read at the same time are bounded. `intake` gives what takes them, once it is there.
 */
export function addIntakeRoutes(kit: ServerKit, intake: () => AlertIntake | undefined): void {
  let readingBytes = 0;

  /** Whether there is room for one more body. */
  function reserve(request: Kept): boolean {
    const length = Number(request.headers['content-length'] ?? UNKNOWN_BYTES);
    if (readingBytes > 0 && readingBytes + length > MAX_READING_BYTES) return false;
    request.readingBytes = length;
    readingBytes += length;
    return true;
  }

  function release(request: Kept) {
    readingBytes -= request.readingBytes ?? 0;
    delete request.readingBytes;
  }

  const inScope = (add: (scope: HttpServer) => void) =>
    void kit.server.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      // Some senders say that their JSON is text, or nothing of what it is.
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
        done(null, body),
      );
      scope.addHook('onResponse', async (request) => release(request));
      scope.addHook('onRequestAbort', async (request) => release(request));
      add(scope);
    });

  inScope((scope) => {
    for (const path of ['/hooks/:kind/:token', '/hooks/:kind']) {
      scope.route({
        method: 'POST',
        url: path,
        schema: { hide: true },
        bodyLimit: MAX_BODY_BYTES,
        validatorCompiler: () => () => true,
        async onRequest(request: Kept, reply) {
          const { kind = '', token } = request.params as { kind?: string; token?: string };
          const taking = intake();
          if (!taking) return send(reply, NOT_YET);
          const presented = token ?? authorizationToken(request.headers.authorization);
          const admitted = await taking.admit({ kind, token: presented, address: request.ip });
          if ('status' in admitted) return send(reply, admitted);
          if (!reserve(request)) return send(reply, taking.overloaded(kind));
          request.intake = admitted;
        },
        async handler(request: Kept, reply) {
          const taking = intake();
          if (!taking || !request.intake) return send(reply, NOT_YET);
          return send(reply, await taking.receive(request.intake, bytesOf(request.body)));
        },
      });
    }
  });

  inScope((scope) => {
    scope.route({
      method: 'POST',
      url: '/v2/enqueue',
      schema: { hide: true },
      bodyLimit: MAX_EVENT_BYTES,
      validatorCompiler: () => () => true,
      async onRequest(request: Kept, reply) {
        const taking = intake();
        if (!taking) return send(reply, NOT_YET);
        if (!reserve(request)) return send(reply, taking.overloaded('pagerduty'));
      },
      async handler(request: Kept, reply) {
        const taking = intake();
        if (!taking) return send(reply, NOT_YET);
        const answer = await taking.receiveEvent(bytesOf(request.body), { address: request.ip });
        return send(reply, answer);
      },
    });
  });
}

const NOT_YET: IntakeAnswer = {
  status: 503,
  headers: { 'retry-after': '5' },
  body: {
    error: {
      message: 'Askwatch is still starting. Wait 5 s (Retry-After) and send it again.',
      ...{ type: 'server_error', param: null, code: 'service_unavailable' },
    },
  },
};

const send = (reply: HttpReply, { status, body, headers = {} }: IntakeAnswer) =>
  reply.code(status).headers(headers).send(body);

const bytesOf = (body: unknown): Uint8Array => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/** The token in `Authorization`: of `Bearer`, or the password of `Basic`, whoever the user is. */
function authorizationToken(header: string | undefined): string | undefined {
  const [, scheme = '', value = ''] = /^(\S+) +(\S+)$/.exec(header?.trim() ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return undefined;
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, 'base64').toString()) ?? [];
  return password;
}
