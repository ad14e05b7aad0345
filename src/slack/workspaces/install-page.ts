import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** A page: every text of it is escaped, whatever it holds. */
export interface InstallPage {
  title: string;
  sentences: string[];
  link?: { text: string; url: string };
}

const STYLE = `
body { max-width: 36rem; margin: 15vh auto; padding: 0 1.5rem; font: 1rem/1.5 system-ui, sans-serif; }
a { display: inline-block; padding: 0.5rem 1rem; border: 1px solid; border-radius: 0.4rem; color: inherit; }
@media (prefers-color-scheme: dark) { body { background: #16191f; color: #e6e8eb; } }
`;

const styleHash = createHash('sha256').update(STYLE).digest('base64');

/** The address of the page after Slack holds a code, which is nobody else's to know. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

/** Sets what every page of ours is sent with. */
export function setPageHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}

export function sendPage(response: ServerResponse, status: number, page: InstallPage): void {
  setPageHeaders(response);
  response.writeHead(status).end(renderPage(page));
}

export function renderPage({ title, sentences, link }: InstallPage): string {
  const paragraphs = sentences.map((sentence) => `<p>${escapeHtml(sentence)}</p>`);
  if (link)
    paragraphs.push(`<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.text)}</a></p>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${paragraphs.join('\n')}
</body>
</html>
`;
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '');
