import type { Logger } from 'pino';
import type { Closable, StoreAccess } from '../../../src/store/local-store.ts';
import {
  DAY_MS,
  dayOf,
  encodeErased,
  encodeRecord,
  textsInJson,
} from '../../../src/store/records.ts';
import type { Journal, JournalDeclaration, JournalRecord } from '../../../src/store/store.ts';

export function openMemoryJournal<T extends JournalRecord>(
  declaration: JournalDeclaration<T>,
  /** JSON of the records, in the order of their appends. */
  stored: string[],
  { assertOpen, assertWritable, log }: StoreAccess & { log: Logger },
): Closable<Journal<T>> {
  const { name, schema } = declaration;

  function decode(text: string): T | undefined {
    const found = schema.safeParse(JSON.parse(text));
    if (found.success) return found.data;
    log.error(`skipped a damaged record of '${name}'`);
    return undefined;
  }

  function keep(isKept: (atMs: number) => boolean) {
    const kept = stored.filter((text) => isKept((JSON.parse(text) as JournalRecord).atMs));
    stored.splice(0, stored.length, ...kept);
  }

  function erased(text: string, change: (record: T) => T | undefined): string[] {
    const record = decode(text);
    const wanted = record && change(record);
    if (wanted === undefined) return [];
    return wanted === record ? [text] : [encodeErased(declaration, wanted, record?.atMs ?? 0)];
  }

  return {
    async append(record) {
      assertWritable();
      dayOf(record.atMs);
      stored.push(encodeRecord(declaration, record));
    },
    async *read({ fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = {}) {
      assertOpen();
      const records = stored.flatMap((text) => decode(text) ?? []);
      for (const record of records.sort((a, b) => a.atMs - b.atMs)) {
        if (record.atMs >= fromMs && record.atMs < toMs) yield record;
      }
    },
    async prune(beforeMs) {
      assertWritable();
      const firstKeptMs = Math.floor(beforeMs / DAY_MS) * DAY_MS;
      keep((atMs) => atMs >= firstKeptMs);
    },
    async clear() {
      assertWritable();
      keep(() => false);
    },
    async erase(change, { mentioning = [] } = {}) {
      assertWritable();
      const texts = textsInJson(mentioning);
      const isAbout = (text: string) =>
        texts.length === 0 || texts.some((one) => text.includes(one));
      const left = stored.flatMap((text) => (isAbout(text) ? erased(text, change) : [text]));
      stored.splice(0, stored.length, ...left);
    },
    async close() {},
  };
}
