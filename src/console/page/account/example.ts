import type { KeyService } from '../../account/api-types.ts';

/** Ids without special characters of shells or JSON. */
const PLAIN_ID = /^[\w.:/@-]{1,200}$/;

/** Writes the configuration of an assistant for `/mcp`, in its most common form. Pure. */
export function mcpServersFor({ key, origin }: { key: string; origin: string }): string {
  const headers = { Authorization: `Bearer ${key}` };
  const askwatch = { type: 'http', url: `${origin}/mcp`, headers };
  return JSON.stringify({ mcpServers: { askwatch } }, null, 2);
}

/** Writes a first request with a key for a shell, and names the model only if its id is harmless there. Pure. */
export function curlFor(request: {
  service: KeyService;
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
