import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../bot/intake/payloads/', import.meta.url);

/** A delivery as its sender wrote it, by the name of its file. */
export function payload(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
}
