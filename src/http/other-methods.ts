import type { IncomingMessage } from 'node:http';
import { methodNotAllowed } from './errors.ts';
import type { HttpServer } from './server-types.ts';

/** Methods that answers name, in the order in which they do. */
const NAMED = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Looked up in place of every method that no route is ever for. */
const PLACEHOLDER_METHOD = 'TRACE';

/**
 * Methods that are looked up. Node reads two dozen more; a route of its own for each of them on every path would take most
 * of the time that a server needs to start.
 */
const ROUTED = [...NAMED, PLACEHOLDER_METHOD];

const askedWith = new WeakMap<IncomingMessage, string>();

/** Lets the request be looked up under a method that there are routes for. */
export function hideMethod(request: IncomingMessage): void {
  const { method = '' } = request;
  if (ROUTED.includes(method)) return;
  askedWith.set(request, method);
  request.method = PLACEHOLDER_METHOD;
}

/** Gives the request, once it is looked up, the method back that it came with. */
export function restoreMethod(request: IncomingMessage): void {
  if (request.method === PLACEHOLDER_METHOD)
    request.method = askedWith.get(request) ?? PLACEHOLDER_METHOD;
}

/**
 * Notes the routes that come into a scope from now on. The plugin it gives, registered after them, answers all other
 * methods of their paths with a 405 that says which there are; the hooks of the scope run as for the routes.
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
        // Before the body is read: it does not matter what it holds.
        onRequest: async (request) => {
          throw methodNotAllowed(request.method, allow);
        },
        handler: () => undefined,
      });
    }
  };
}
