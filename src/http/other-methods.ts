import { METHODS } from 'node:http';
import { methodNotAllowed } from './errors.ts';
import type { HttpServer } from './server.ts';

/** Methods that a route can be for. CONNECT is for no path. */
const ROUTED = METHODS.filter((method) => method !== 'CONNECT');

/** Methods that answers name, in the order in which they do. */
const NAMED = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Lets routes be for every method that Node reads; Fastify begins with the eight best known. */
export function takeAllMethods(server: HttpServer): void {
  for (const method of ROUTED) {
    if (!server.supportedMethods.includes(method)) server.addHttpMethod(method);
  }
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
