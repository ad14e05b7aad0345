import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { HttpRequest, HttpServer } from '../http/server-types.ts';
import { type Guards, guarded } from './login/guards.ts';
import { compressedFor } from './shared/conditional.ts';
import { PLAYGROUND_META, PUBLIC_URL_META, VERSION_META } from './shared/metas.ts';
import { xmlText } from './shared/xml-text.ts';

const MARK = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#4f46e5"/><path d="M7 17h4.5l2.5-7 4 13 2.5-6H25" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

interface ConsolePage {
  path: string;
  name: string;
  title: string;
  /** `page` if absent. */
  guard?: 'page' | 'statusPage' | 'loginPage';
  /** View and title for readers who are not logged in. */
  strangers?: { view: string; title: string };
  /** Scripts that it loads on demand, from addresses in its meta tags. */
  later?: readonly string[];
}

export const PAGES: readonly ConsolePage[] = [
  {
    path: '/',
    name: 'playground',
    title: 'Askwatch',
    later: ['markdown-worker', 'colour-worker'],
  },
  {
    path: '/status',
    name: 'status',
    title: 'Status · Askwatch',
    guard: 'statusPage',
    strangers: { view: 'status-for-strangers', title: 'Status' },
  },
  { path: '/login', name: 'login', title: 'Log in to Askwatch', guard: 'loginPage' },
  { path: '/account', name: 'account', title: 'Account · Askwatch' },
];

/** Adds the pages with their scripts, styles and icon, read once from `folder`. Rejects if they aren't built. */
export async function addPageRoutes(
  server: HttpServer,
  guards: Guards,
  folder: URL,
  {
    pages,
    publicUrl,
    version,
  }: {
    pages: readonly ConsolePage[];
    publicUrl?: string;
    version?: string;
  },
): Promise<void> {
  /** HTML that pages show until their script runs, by their names. */
  const views: Record<string, string> = JSON.parse(
    String(await readBuilt(folder, 'first-views.json')),
  );
  const added = new Map<string, Promise<string>>();
  const addressOf = (file: string) => {
    const address = added.get(file) ?? addAsset(server, guards, folder, file);
    added.set(file, address);
    return address;
  };
  const fonts = await addFonts(server, guards, folder);
  for (const { path, name, title, guard = 'page', strangers, later = [] } of pages) {
    const metas = publicUrl === undefined ? [] : [metaOf(PUBLIC_URL_META, publicUrl)];
    // Strangers don't learn the version.
    if (version !== undefined && guard === 'page') metas.push(metaOf(VERSION_META, version));
    if (pages.some((one) => one.path === '/')) metas.push(metaOf(PLAYGROUND_META, '/'));
    for (const script of later) metas.push(metaOf(script, await addressOf(`${script}.js`)));
    const head = [
      ...metas,
      ...fonts,
      `<link rel="stylesheet" href="${await addressOf(`${name}.css`)}">`,
      `<script type="module" src="${await addressOf(`${name}.js`)}"></script>`,
    ];
    const html = htmlOf(title, head, views[name] ?? '');
    const forStrangers = strangers && htmlOf(strangers.title, head, views[strangers.view] ?? '');
    server.get(path, guarded(guards[guard]), async (request, reply) => {
      reply.type(HTML_TYPE).header('cache-control', 'no-cache');
      return forStrangers !== undefined && guards.viewer(request) === 'anyone'
        ? forStrangers
        : html;
    });
  }
  const notFound = htmlOf(
    'Page not found · Askwatch',
    [`<link rel="stylesheet" href="${await addressOf('login.css')}">`],
    views['not-found'] ?? '',
  );
  server.addHook('onRequest', async (request, reply) => {
    if (!request.is404 || !isForBrowser(request)) return;
    await guards.bare(request, reply);
    reply.code(404).type(HTML_TYPE).header('cache-control', 'no-store').send(notFound);
    return reply;
  });
  server.get('/console/icon.svg', guarded(guards.file), async (_request, reply) => {
    reply.type('image/svg+xml').header('cache-control', 'public, max-age=86400');
    return MARK;
  });
}

/** Cached copies never go stale, because their addresses contain a hash. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

const HTML_TYPE = 'text/html; charset=utf-8';

/** Paths of the APIs, which always answer with JSON. */
const FOR_PROGRAMS = /^\/(?:api|v1|mcp|hooks|console)(?:\/|$)/;

function isForBrowser({ method, url, headers }: HttpRequest): boolean {
  const path = url.split('?')[0] ?? '';
  return (
    method === 'GET' && /\btext\/html\b/.test(headers.accept ?? '') && !FOR_PROGRAMS.test(path)
  );
}

const metaOf = (name: string, content: string) =>
  `<meta name="${name}" content="${xmlText(content)}">`;

/** Serves a built file, and resolves to its address with the hash of its content. */
async function addAsset(
  server: HttpServer,
  guards: Guards,
  folder: URL,
  name: string,
): Promise<string> {
  const bytes = await readBuilt(folder, name);
  const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
  server.get(`/console/${name}`, guarded(guards.file), async (request, reply) => {
    reply.type(`${type}; charset=utf-8`).header('vary', 'accept-encoding');
    reply.header('cache-control', FOR_GOOD);
    return await compressedFor(bytes, request, reply);
  });
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
  return `/console/${name}?v=${hash}`;
}

/** Serves the fonts of the styles, and resolves to their preload tags. */
async function addFonts(server: HttpServer, guards: Guards, folder: URL): Promise<string[]> {
  // All pages have the same fonts. The folder may hold fonts of an earlier build, too.
  const style = String(await readBuilt(folder, 'login.css'));
  const names = [...style.matchAll(/[\w-]+\.woff2/g)].map(([name]) => name);
  for (const name of names) {
    const bytes = await readBuilt(folder, name);
    server.get(`/console/${name}`, guarded(guards.file), async (_request, reply) => {
      reply.type('font/woff2').header('cache-control', FOR_GOOD);
      return bytes;
    });
  }
  return names.map(
    (name) =>
      `<link rel="preload" href="/console/${name}" as="font" type="font/woff2" crossorigin>`,
  );
}

async function readBuilt(folder: URL, name: string): Promise<Buffer> {
  const file = new URL(name, folder);
  return await readFile(file).catch((error: unknown) => {
    throw new Error(
      `The console's pages are not built (${file.pathname} is missing). Run npm run build.`,
      {
        cause: error,
      },
    );
  });
}

function htmlOf(title: string, head: readonly string[], firstView: string): string {
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
<div id="app">${firstView}</div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`;
}
