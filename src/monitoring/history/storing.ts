const STORE_EVERY_MS = 10_000;

/** Runs `storeDue` every ten seconds, and never twice at the same time. It must not reject. */
export function startStoring(storeDue: () => Promise<void>) {
  let storing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function storeNow(): Promise<void> {
    storing = storing.then(storeDue);
    return storing;
  }

  function storeLater() {
    timer = setTimeout(() => {
      void storeNow().then(() => {
        if (!isStopped) storeLater();
      });
    }, STORE_EVERY_MS).unref();
  }

  storeLater();
  return {
    storeNow,
    /** Resolves when nothing is being stored. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await storing;
    },
  };
}
