import { validate } from '@readme/openapi-parser';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';

/** An answer of a running server. */
export interface SeenAnswer {
  status: number;
  headers: Headers;
  text: string;
}

type Media = { schema?: { $ref?: string } };

type Operation = {
  operationId?: string;
  responses: Record<string, { headers?: object; content?: Record<string, Media> }>;
};

/** Headers of answers that a caller may act on; others are HTTP's own. */
const TELLING = /^(x-(?!accel)|retry-after|www-authenticate)/;

/** The OpenAPI document of a running server, found valid, and what it says of answers. */
export async function openApiOf(url: string) {
  const document = await (await fetch(`${url}/openapi.json`)).json();
  expect(await validate(structuredClone(document))).toMatchObject({ valid: true, warnings: [] });
  // Formats are for people; the document is no schema, so its own words are unknown to the validator.
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'document');
  const paths = document.paths as Record<string, Record<string, Operation>>;
  const seen = new Set<string>();

  /** To make a validator takes longer than to ask the server. */
  const validators = new Map<string, ValidateFunction>();
  function validatorOf($ref: string): ValidateFunction {
    const known = validators.get($ref) ?? ajv.compile({ $ref });
    validators.set($ref, known);
    return known;
  }

  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  /** Every status of every operation, as `get /path 200`. */
  const documented = operations.flatMap(({ path, method, operation }) =>
    Object.keys(operation.responses).map((status) => `${method} ${path} ${status}`),
  );

  return {
    document,
    operations,
    /** Expects an answer to be one that the document describes: status, headers, media type and body. */
    expectDescribed(method: string, path: string, answer: SeenAnswer) {
      const name = `${method} ${path} ${answer.status}`;
      expect(documented).toContain(name);
      seen.add(name);
      const described = paths[path]?.[method]?.responses[answer.status] ?? {};
      const telling = [...answer.headers.keys()].filter((header) => TELLING.test(header));
      expect(Object.keys(described.headers ?? {}), name).toEqual(expect.arrayContaining(telling));
      if (method === 'head') return;
      if (answer.status === 204) {
        expect([described.content, answer.text], name).toEqual([{}, '']);
        return;
      }
      const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
      expect(Object.keys(described.content ?? {}), name).toContain(type);
      const body = type === 'application/json' ? JSON.parse(answer.text) : answer.text;
      const pointer = ['paths', path, method, 'responses', `${answer.status}`, 'content', type];
      const steps = pointer.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'));
      // Named schemas are compiled once.
      const named = described.content?.[type]?.schema?.$ref;
      const isAsDescribed = validatorOf(`document${named ?? `#/${steps.join('/')}/schema`}`);
      expect(isAsDescribed(body), `${name}: ${ajv.errorsText(isAsDescribed.errors)}`).toBe(true);
      if (answer.status >= 400) {
        expect(Object.keys(body.error), name).toEqual(['message', 'type', 'param', 'code']);
      }
    },
    /** Documented responses that haven't occurred. */
    unseen: () => documented.filter((name) => !seen.has(name)),
  };
}
