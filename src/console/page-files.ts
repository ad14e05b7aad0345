import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { HttpServer } from '../http/server-types.ts';
import { type Guards, guarded } from './login/guards.ts';
import { compressedFor } from './shared/conditional.ts';
import { PUBLIC_URL_META } from './shared/public-url.ts';
import { xmlText } from './shared/xml-text.ts';

const MARK = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#4f46e5"/><path d="M7 17h4.5l2.5-7 4 13 2.5-6H25" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

/** A page that a browser opens at `path`; `name` is that of its script and style. */
export interface ConsolePage {
  path: string;
  name: string;
  title: string;
  /** Who may open it; `page` unless it is said otherwise. */
  guard?: 'page' | 'statusPage' | 'loginPage';
  /** Names of scripts that its workers run; where they are stands in the page. */
  workers?: readonly string[];
}

/** Adds the pages with their scripts, styles and icon, read once from `folder`. Rejects when they are not built. */
export async function addPageRoutes(
  server: HttpServer,
  guards: Guards,
  folder: URL,
  pages: readonly ConsolePage[],
  publicUrl?: string,
): Promise<void> {
  const address =
    publicUrl === undefined
      ? []
      : [`<meta name="${PUBLIC_URL_META}" content="${xmlText(publicUrl)}">`];
  for (const page of pages) await addPage(server, guards, folder, page, address);
  server.get('/console/icon.svg', guarded(guards.file), async (_request, reply) => {
    reply.type('image/svg+xml').header('cache-control', 'public, max-age=86400');
    return MARK;
  });
}

async function addPage(
  server: HttpServer,
  guards: Guards,
  folder: URL,
  { path, name, title, guard = 'page', workers = [] }: ConsolePage,
  more: readonly string[],
) {
  const asset = (file: string) => addAsset(server, guards, folder, file);
  const script = await asset(`${name}.js`);
  const style = await asset(`${name}.css`);
  const places = await Promise.all(
    workers.map(
      async (worker) => `<meta name="${worker}" content="${await asset(`${worker}.js`)}">`,
    ),
  );
  const html = htmlOf(title, [
    ...more,
    ...places,
    `<link rel="stylesheet" href="${style}">`,
    `<script type="module" src="${script}"></script>`,
  ]);
  server.get(path, guarded(guards[guard]), async (_request, reply) => {
    reply.type('text/html; charset=utf-8').header('cache-control', 'no-cache');
    return html;
  });
}

/** Serves a file of the built page. Resolves to its address, which carries the hash of what is in it. */
async function addAsset(
  server: HttpServer,
  guards: Guards,
  folder: URL,
  name: string,
): Promise<string> {
  const file = new URL(name, folder);
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new Error(`The console's page is not built: run npm run build (${file.pathname}).`, {
      cause: error,
    });
  });
  const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
  server.get(`/console/${name}`, guarded(guards.file), async (request, reply) => {
    reply.type(`${type}; charset=utf-8`).header('vary', 'accept-encoding');
    // A copy never grows stale.
    reply.header('cache-control', 'public, max-age=31536000, immutable');
    return await compressedFor(bytes, request, reply);
  });
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
  return `/console/${name}?v=${hash}`;
}

function htmlOf(title: string, head: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Ask a model and watch your services.">
<title>${title}</title>
<link rel="icon" href="/console/icon.svg" type="image/svg+xml">
${head.join('\n')}
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`;
}
