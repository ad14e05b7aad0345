import type { ServiceName } from '../../account/api-types.ts';

/** Ids that mean nothing to a shell, nor to JSON. */
const PLAIN_ID = /^[\w.:/@-]{1,200}$/;

/** What an assistant's program is told of `/mcp`, as most of them read it. Pure. */
export function mcpServersFor({ key, origin }: { key: string; origin: string }): string {
  const headers = { Authorization: `Bearer ${key}` };
  const askwatch = { type: 'http', url: `${origin}/mcp`, headers };
  return JSON.stringify({ mcpServers: { askwatch } }, null, 2);
}

/** A first request with a key, to paste into a shell; a model is named only where its id is harmless there. Pure. */
export function curlFor(request: {
  service: ServiceName;
  key: string;
  origin: string;
  model: string | undefined;
}): string {
  const { service, key, origin, model } = request;
  if (service === 'monitoring') {
    return `curl ${origin}/api/v1/public/monitors \\\n  -H "X-API-Key: ${key}"`;
  }
  const named = model !== undefined && PLAIN_ID.test(model) ? model : '<model>';
  return [
    `curl ${origin}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '{"model": "${named}", "messages": [{"role": "user", "content": "Why is the sky blue?"}]}'`,
  ].join('\n');
}
