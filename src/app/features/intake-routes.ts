import type { AlertIntake, IntakeAnswer } from '../../bot/intake/intake.ts';
import { MAX_BODY_BYTES } from '../../bot/intake/read-body.ts';
import { createBodyReader } from '../../http/body-reader.ts';
import { clientKeyOf } from '../../http/client-address.ts';
import type { ServerKit } from '../../http/server.ts';
import type { HttpReply, HttpRequest } from '../../http/server-types.ts';

/** Deliveries that are being received, or wait to be stored; intakes share this. */
const DELIVERIES = { roomBytes: 48 * 1024 * 1024, timeMs: 30_000 };

/** Events whose sender isn't known before the body is read; addresses share this. */
const EVENTS = { roomBytes: 16 * 1024 * 1024, timeMs: 10_000 };

/** Source: PagerDuty, Events API v2. */
const MAX_EVENT_BYTES = 512 * 1024;

type Admitted = HttpRequest & { intake?: Parameters<AlertIntake['receive']>[0] };

/**
 * Adds the routes that receive alerts from other systems. The token, in the path or a header, is checked before the body is read,
 * and requests without a valid token share a small memory budget. `intake` returns the receiver once the bot has started.
 */
export function addIntakeRoutes(kit: ServerKit, intake: () => AlertIntake | undefined): void {
  const readDelivery = createBodyReader(DELIVERIES);
  const readEvent = createBodyReader(EVENTS);

  kit.server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // Handlers read the body themselves: some senders say that their JSON is text, or don't say what it is.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    for (const url of ['/hooks/:kind/:token', '/hooks/:kind']) {
      scope.route({
        method: 'POST',
        url,
        schema: { hide: true },
        validatorCompiler: () => () => true,
        async onRequest(request: Admitted, reply) {
          const { kind = '', token } = request.params as { kind?: string; token?: string };
          const taking = intake();
          if (!taking) return send(reply, NOT_YET);
          const presented = token ?? authorizationToken(request.headers.authorization);
          const admitted = await taking.admit({ kind, token: presented, address: request.ip });
          if ('status' in admitted) return send(reply, admitted);
          request.intake = admitted;
        },
        async handler(request: Admitted, reply) {
          const taking = intake();
          if (!taking || !request.intake) return send(reply, NOT_YET);
          const body = await readDelivery(request.raw, {
            sender: request.intake.id,
            limitBytes: MAX_BODY_BYTES,
            response: reply.raw,
          });
          return send(reply, await taking.receive(request.intake, body));
        },
      });
    }
    scope.route({
      method: 'POST',
      url: '/v2/enqueue',
      schema: { hide: true },
      validatorCompiler: () => () => true,
      async handler({ raw, ip }, reply) {
        const taking = intake();
        if (!taking) return send(reply, NOT_YET);
        const body = await readEvent(raw, {
          sender: clientKeyOf(ip),
          limitBytes: MAX_EVENT_BYTES,
          response: reply.raw,
        });
        return send(reply, await taking.receiveEvent(body, { address: ip }));
      },
    });
  });
}

const NOT_YET: IntakeAnswer = {
  status: 503,
  headers: { 'retry-after': '5' },
  body: {
    error: {
      message: 'Askwatch is still starting. Wait 5 s (Retry-After) and try again.',
      ...{ type: 'server_error', param: null, code: 'service_unavailable' },
    },
  },
};

const send = (reply: HttpReply, { status, body, headers = {} }: IntakeAnswer) =>
  reply.code(status).headers(headers).send(body);

/** Returns the `Bearer` token or the `Basic` password; the user name doesn't matter. */
function authorizationToken(header: string | undefined): string | undefined {
  const [, scheme = '', value = ''] = /^(\S+) +(\S+)$/.exec(header?.trim() ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return undefined;
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, 'base64').toString()) ?? [];
  return password;
}
