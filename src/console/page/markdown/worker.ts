/** How a job ended. */
export type Outcome<Result> =
  | { kind: 'done'; result: Result }
  /** It took too long, and was ended. */
  | { kind: 'late' }
  /** The worker's script could not be loaded, or has a fault. */
  | { kind: 'broken' };

/**
 * Makes what does one kind of work beside the page, so that no text can hold it: a worker of the script `name`, which is loaded when there is something to do. One that does not answer within
 * `limitMs` is ended, and the next job gets another.
 */
export function createPageWorker<Job, Result>(options: { name: string; limitMs: number }) {
  const { name, limitMs } = options;
  let started: ReturnType<typeof start> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function run(job: Job): Promise<Outcome<Result>> {
    try {
      started ??= start(name);
      await started.ready;
      const answer = started.next();
      started.worker.postMessage(job);
      const result = await within(limitMs, answer);
      if (result !== LATE) return { kind: 'done', result: result as Result };
      end();
      return { kind: 'late' };
    } catch {
      // What has gone wrong stands in the browser's own log.
      end();
      return { kind: 'broken' };
    }
  }

  function end() {
    started?.worker.terminate();
    started = undefined;
  }

  return {
    /** Jobs are done one after another. */
    run(job: Job) {
      const outcome = last.then(() => run(job));
      last = outcome;
      return outcome;
    },
  };
}

function start(name: string) {
  const worker = new Worker(addressOf(name) as string, { type: 'module', name });
  /** What the worker answers next, rejected when the worker breaks. */
  const next = () =>
    new Promise<unknown>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = () => reject(new Error(`The worker ${name} is broken.`));
    });
  return { worker, ready: next().then(() => undefined), next };
}

const LATE = Symbol('late');

async function within<T>(limitMs: number, promise: Promise<T>): Promise<T | typeof LATE> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Browsers that know trusted types. Source: W3C, Trusted Types, "TrustedTypePolicyFactory". */
interface Trusting {
  trustedTypes?: {
    createPolicy(
      name: string,
      rules: { createScriptURL(address: string): string },
    ): { createScriptURL(address: string): unknown };
  };
}

const policy = (globalThis as Trusting).trustedTypes?.createPolicy('askwatch-worker', {
  createScriptURL(address) {
    const { origin, pathname } = new URL(address, location.href);
    if (origin === location.origin && pathname.startsWith('/console/')) return address;
    throw new TypeError(`${address} is no script of this page.`);
  },
});

/** Where the server says that the script is. */
function addressOf(name: string): unknown {
  const address = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
  return policy ? policy.createScriptURL(address) : address;
}
