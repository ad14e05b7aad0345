export class StoreInUseError extends Error {
  override name = 'StoreInUseError' as const;
}

/** The data folder can't be used; the message says what to do. */
export class DataFolderError extends Error {
  override name = 'DataFolderError' as const;
  /** Like system errors: the data isn't at fault and may be written again later. */
  readonly syscall = 'open';
}

/** A document and its previous version, or a record, are unreadable. */
export class CorruptDocumentError extends Error {
  override name = 'CorruptDocumentError' as const;
}

export class NewerDocumentError extends Error {
  override name = 'NewerDocumentError' as const;
}

export class StoreUnavailableError extends Error {
  override name = 'StoreUnavailableError' as const;
  /** Like system errors: the data isn't at fault. */
  readonly syscall = 'connect';
}

export class NewerSchemaError extends Error {
  override name = 'NewerSchemaError' as const;
}

/** The state was moved to another engine, or a copy of it is unfinished. */
export class StateMovedError extends Error {
  override name = 'StateMovedError' as const;
}

export class LeaseLostError extends Error {
  constructor() {
    super('Another process may hold the lease by now.');
    this.name = 'LeaseLostError';
  }
}
