/** Another live process uses the same data. */
export class StoreInUseError extends Error {
  override name = 'StoreInUseError' as const;
}

/** A document and its previous version are both unreadable, and going on without it would lose data. */
export class CorruptDocumentError extends Error {
  override name = 'CorruptDocumentError' as const;
}
