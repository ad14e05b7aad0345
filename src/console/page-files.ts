import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HttpServer } from '../http/server.ts';
import { guardHost } from './safety.ts';

const compress = promisify(gzip);

/** What stands beside the compiled module, where `npm run build:page` writes it. */
export const BUILT_PAGE = new URL('./page/', import.meta.url);

const MARK = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#4f46e5"/><path d="M7 17h4.5l2.5-7 4 13 2.5-6H25" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

/** Adds the page at `/` with its script, style and icon, read once from `folder`. Rejects when they are not built. */
export async function addPageRoutes(server: HttpServer, folder: URL): Promise<void> {
  const script = await readAsset(new URL('app.js', folder));
  const style = await readAsset(new URL('app.css', folder));

  const serve = (path: string, type: string, asset: Asset) =>
    server.get(path, { schema: { hide: true }, onRequest: guardHost }, async (request, reply) => {
      reply.type(type).header('vary', 'accept-encoding');
      // The address carries the content's hash, so a copy never grows stale.
      reply.header('cache-control', 'public, max-age=31536000, immutable');
      if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return asset.bytes;
      reply.header('content-encoding', 'gzip');
      return asset.compressed;
    });
  serve('/console/app.js', 'text/javascript; charset=utf-8', script);
  serve('/console/app.css', 'text/css; charset=utf-8', style);

  server.get(
    '/console/icon.svg',
    { schema: { hide: true }, onRequest: guardHost },
    async (_request, reply) => {
      reply.type('image/svg+xml').header('cache-control', 'public, max-age=86400');
      return MARK;
    },
  );
  server.get('/', { schema: { hide: true }, onRequest: guardHost }, async (_request, reply) => {
    reply.type('text/html; charset=utf-8').header('cache-control', 'no-cache');
    return html(script.hash, style.hash);
  });
}

interface Asset {
  bytes: Buffer;
  compressed: Buffer;
  hash: string;
}

async function readAsset(file: URL): Promise<Asset> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new Error(`The console's page is not built: run npm run build (${file.pathname}).`, {
      cause: error,
    });
  });
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
  return { bytes, compressed: await compress(bytes), hash };
}

function html(scriptHash: string, styleHash: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Ask a model and watch your services.">
<title>Askwatch</title>
<link rel="icon" href="/console/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/app.css?v=${styleHash}">
<script type="module" src="/console/app.js?v=${scriptHash}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`;
}
