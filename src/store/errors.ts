/** Another live process uses the same data. */
export class StoreInUseError extends Error {
  override name = 'StoreInUseError' as const;
}

/** The place where data is to be kept cannot be used as it is; the message says what to do. */
export class DataFolderError extends Error {
  override name = 'DataFolderError' as const;
  /** Like system errors: the data isn't at fault and may be written again later. */
  readonly syscall = 'open';
}

/** A document and its previous version, or a record, are unreadable, and going on without it would lose data. */
export class CorruptDocumentError extends Error {
  override name = 'CorruptDocumentError' as const;
}

/** A document was written by a newer version of this program; it is whole, and reading it would be a guess. */
export class NewerDocumentError extends Error {
  override name = 'NewerDocumentError' as const;
}

/** The store cannot be reached now; what was asked of it may be tried again later. */
export class StoreUnavailableError extends Error {
  override name = 'StoreUnavailableError' as const;
  /** Like system errors: the data isn't at fault. */
  readonly syscall = 'connect';
}

/** A newer program has changed what is stored so that this one cannot use it any more. */
export class NewerSchemaError extends Error {
  override name = 'NewerSchemaError' as const;
}

/** The state is not here any more, or not yet: it was moved to another engine, or a copy of it is unfinished. */
export class StateMovedError extends Error {
  override name = 'StateMovedError' as const;
}

/** The lease is no longer held, so another process may do by now what this one was about to store. */
export class LeaseLostError extends Error {
  constructor() {
    super('Another process may hold the lease by now.');
    this.name = 'LeaseLostError';
  }
}
