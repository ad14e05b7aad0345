import { createHash } from 'node:crypto';
import type { HttpServer } from './server-types.ts';

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:0 auto;padding:1rem;overflow-wrap:anywhere}
pre{white-space:pre-wrap;padding:.75rem;border:1px solid #8886;border-radius:.5rem}
code{font-size:.85rem}a{color:light-dark(#3f37c9,#a5b4fc)}h2,h3{margin-top:2.5rem}`;

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** An object of the OpenAPI document, with the fields that the page shows. */
type ApiPart = {
  [name in
    | 'name'
    | 'in'
    | 'operationId'
    | 'title'
    | 'version'
    | 'summary'
    | 'description']?: string;
} & { [name in 'info' | 'schema' | 'requestBody' | 'items' | 'additionalProperties']?: ApiPart } & {
  [name in 'components' | 'content' | 'responses' | 'properties' | 'schemas']?: ApiParts;
} & { [name in 'parameters' | 'anyOf' | 'oneOf']?: ApiPart[] } & {
  paths?: Record<string, ApiParts>;
  required?: string[];
} & { $ref?: string; enum?: unknown[]; const?: unknown; type?: string | string[] };

type ApiParts = Record<string, ApiPart>;

/**
 * Adds a page for people about the routes of the OpenAPI document, open to everyone who can read that. It has no script and loads
 * nothing. Viewers add 13 MB and more to an installation; the smallest, swagger-ui-dist, brings a package that reports installations.
 */
export function addDocsPage(server: HttpServer): void {
  let page: string | undefined;
  server.get('/docs', { schema: { hide: true } }, async (_request, reply) => {
    page ??= pageOf(server.swagger() as ApiPart);
    reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY);
    return reply.header('x-content-type-options', 'nosniff').send(page);
  });
}

function pageOf({ info: { title, version, description } = {}, paths = {}, components }: ApiPart) {
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, part]) =>
      method === 'head' ? [] : { ...part, name: `${method.toUpperCase()} ${path}` },
    ),
  );
  const links = requests.map(({ operationId: id, name, summary }) => {
    return `<li><a href="#${id}">${name}</a>: ${prose(summary)}`;
  });
  const types = Object.entries((components?.schemas ?? {}) as ApiParts).map(
    ([name, schema]) => `<h3 id="${name}">${name}</h3><pre>${typeOf(schema)}</pre>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>API · ${title}</title><style>${STYLE}</style><main><h1>${title} ${version} API</h1><p>${prose(description)}</p>
<p>Send your API key as <code>Authorization: Bearer …</code>. For programs: <a href="/openapi.json">openapi.json</a>.</p>
<ul>${links.join('')}</ul><h2>Requests</h2>${requests.map(sectionOf).join('')}<h2>Types</h2>${types.join('')}</main>`;
}

function sectionOf(request: ApiPart): string {
  const { operationId, name, summary, description, parameters = [], requestBody } = request;
  const inputs = parameters.map((one) => rowOf(`<code>${one.name}</code> (${one.in})`, one));
  if (requestBody) inputs.push(rowOf('Body', requestBody));
  const answers = Object.entries(request.responses ?? {}).map(([status, body]) =>
    rowOf(status, body),
  );
  const rows = [...inputs, ...answers].join('');
  return `<h3 id="${operationId}">${name}</h3><p>${prose(summary)}. ${prose(description)}</p><ul>${rows}</ul>`;
}

function rowOf(place: string, { schema, content, description }: ApiPart): string {
  const types = Object.values(content ?? { schema: { schema } }).map((one) => typeOf(one.schema));
  return `<li>${place}: <code>${types.join(' or ')}</code> ${prose(description)}`;
}

/** Writes a schema as HTML, like a type of TypeScript; a named one is a link. */
function typeOf(schema: ApiPart = {}, indent = ''): string {
  const { $ref, items, properties, required = [], additionalProperties: others } = schema;
  const options = schema.oneOf ?? schema.anyOf;
  const values = schema.enum ?? ('const' in schema ? [schema.const] : undefined);
  if ($ref) return $ref.replace(/.*\/(.*)/, '<a href="#$1">$1</a>');
  if (options) return options.map((option) => typeOf(option, indent)).join(' | ');
  if (items) return `Array&lt;${typeOf(items, indent)}&gt;`;
  if (values) return values.map((value) => prose(JSON.stringify(value))).join(' | ');
  if (others?.type) return `Record&lt;string, ${typeOf(others, indent)}&gt;`;
  if (!properties) return [schema.type ?? 'unknown'].flat().join(' | ');
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${indent}  ${name}${mark}: ${typeOf(field, `${indent}  `)} ${prose(field.description)}\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

/** Escapes a sentence, and shows what is between backticks as code. */
const prose = (text = '') =>
  text
    .replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`)
    .replace(/`([^`]+)`/g, '<code>$1</code>');
