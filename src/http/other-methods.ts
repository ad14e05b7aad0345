import type { IncomingMessage } from 'node:http';
import { methodNotAllowed } from './errors.ts';
import type { HttpServer } from './server-types.ts';

const NAMED = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Replaces every method that no route uses. */
const PLACEHOLDER_METHOD = 'TRACE';

/** Methods with routes. Node parses two dozen more; a 405 route for each of them on every path would slow the start down. */
const ROUTED = [...NAMED, PLACEHOLDER_METHOD];

const askedWith = new WeakMap<IncomingMessage, string>();

export function hideMethod(request: IncomingMessage): void {
  const { method = '' } = request;
  if (ROUTED.includes(method)) return;
  askedWith.set(request, method);
  request.method = PLACEHOLDER_METHOD;
}

export function restoreMethod(request: IncomingMessage): void {
  if (request.method === PLACEHOLDER_METHOD)
    request.method = askedWith.get(request) ?? PLACEHOLDER_METHOD;
}

/**
 * Answers other methods of a scope's routes with a 405. Call it before the routes, and register the returned plugin after them, so
 * that the scope's hooks run for the 405 as well.
 */
export function refuseOtherMethods(scope: HttpServer): (last: HttpServer) => Promise<void> {
  const methodsOf = new Map<string, Set<string>>();
  scope.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set();
    methodsOf.set(url, methods);
    for (const one of [method].flat()) methods.add(one);
  });
  return async (last) => {
    for (const [url, methods] of methodsOf) {
      const others = ROUTED.filter((method) => !methods.has(method));
      if (others.length === 0) continue;
      const allow = NAMED.filter((method) => methods.has(method)).join(', ');
      last.route({
        method: others,
        url: url.slice(last.prefix.length),
        schema: { hide: true },
        // A hook before the body is read, because the body doesn't matter.
        onRequest: async (request) => {
          throw methodNotAllowed(request.method, allow);
        },
        handler: () => undefined,
      });
    }
  };
}
