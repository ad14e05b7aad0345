import { join } from 'node:path';
import type { Logger } from 'pino';
import { claimBuckets, createClaims } from '../claim-buckets.ts';
import { STORED_NAME } from '../documents.ts';
import { LeaseLostError } from '../errors.ts';
import { createMemoryWindows } from '../memory-windows.ts';
import { createQueues } from '../queues.ts';
import type { Lease, OpenedByName } from '../store.ts';
import { ACKNOWLEDGED } from './acknowledged.ts';
import { createLowdbCollection } from './collection.ts';
import { createLowdbJournal } from './journal.ts';
import type { Losses } from './losses.ts';
import type { Quarantine } from './quarantine.ts';
import { openLowdbRegisters } from './registers.ts';
import { openStateInJournals } from './state.ts';

/** Files of documents that are open at once. */
const MAX_OPEN_FILES = 32;

/** Opens stored data until the store is closed, or under a lease until that is released. */
export type Scope = ReturnType<typeof openScope>;

export function openScope(
  options: {
    folder: string;
    /** Names that are in use. */
    names: Set<string>;
    quarantine: Quarantine;
    losses: Losses;
    assertOpen: () => void;
    log: Logger;
  },
  lease?: Lease,
) {
  const { folder, names, quarantine, losses, assertOpen, log } = options;
  const queues = createQueues(MAX_OPEN_FILES);
  const own: string[] = [];
  const journals: Array<{ close(): Promise<void> }> = [];

  function assertWritable() {
    assertOpen();
    if (lease?.isHeld() === false) throw new LeaseLostError();
  }

  /** Marks a name as used, and gives the folder of its data. */
  function occupy(name: string): string {
    assertWritable();
    if (!STORED_NAME.test(name)) throw new Error(`'${name}' is not a valid name for stored data.`);
    if (names.has(name)) throw new Error(`Stored data named '${name}' is opened twice.`);
    names.add(name);
    own.push(name);
    return join(folder, name);
  }

  const access = { assertOpen, assertWritable, log };
  const collection: OpenedByName['collection'] = (declaration) => {
    const place = occupy(declaration.name);
    return createLowdbCollection(declaration, { folder: place, quarantine, queues, ...access });
  };
  const journal: OpenedByName['journal'] = (declaration) => {
    const opened = createLowdbJournal(declaration, {
      folder: occupy(declaration.name),
      acknowledged: join(folder, ACKNOWLEDGED, declaration.name),
      losses,
      ...access,
    });
    journals.push(opened);
    return opened;
  };
  const opens: OpenedByName = {
    collection,
    journal,
    registers: (declaration) => openLowdbRegisters(declaration, { journal, log }),
    state: (declaration) => openStateInJournals(declaration, { journal, log }),
    claims(declaration) {
      const buckets = collection(claimBuckets(declaration.name));
      return createClaims(declaration, { collection: buckets, log });
    },
    windows(declaration) {
      occupy(declaration.name);
      return createMemoryWindows(declaration);
    },
  };
  return {
    opens,
    /** Waits for what is under way, and lets the names be opened again. */
    async close(): Promise<void> {
      await queues.idle();
      await Promise.all(journals.map((each) => each.close()));
      for (const name of own) names.delete(name);
    },
  };
}
