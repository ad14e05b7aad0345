import { metaContent } from '../shared/meta.ts';

export type WorkerOutcome<Result> =
  | { kind: 'done'; result: Result }
  /** The job took too long and was stopped. */
  | { kind: 'late' }
  /** The worker's script could not be loaded, or has a fault. */
  | { kind: 'broken' };

/**
 * Creates a function that runs jobs in a worker, so that no text can freeze the page. The script `name` is loaded with the first
 * job. Jobs run one after another. A worker that takes longer than `limitMs` is stopped, and the next job gets a new one.
 */
export function createPageWorker<Job, Result>(
  name: string,
  limitMs: number,
): (job: Job) => Promise<WorkerOutcome<Result>> {
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function run(job: Job): Promise<WorkerOutcome<Result>> {
    try {
      if (!worker) {
        worker = new Worker(trustedAddress(name) as string, { type: 'module', name });
        // The time limit begins once the worker is ready.
        await nextMessage(worker);
      }
      const message = nextMessage<Result>(worker, limitMs);
      worker.postMessage(job);
      const outcome = await message;
      if (outcome.kind === 'late') end();
      return outcome;
    } catch {
      // The browser logs the cause.
      end();
      return { kind: 'broken' };
    }
  }

  function end() {
    worker?.terminate();
    worker = undefined;
  }

  return (job) => {
    const outcome = last.then(() => run(job));
    last = outcome;
    return outcome;
  };
}

function nextMessage<Result>(worker: Worker, limitMs?: number): Promise<WorkerOutcome<Result>> {
  return new Promise((resolve, reject) => {
    const late = () => resolve({ kind: 'late' });
    const timer = limitMs === undefined ? undefined : setTimeout(late, limitMs);
    worker.onmessage = ({ data }) => {
      clearTimeout(timer);
      resolve({ kind: 'done', result: data as Result });
    };
    worker.onerror = () => {
      clearTimeout(timer);
      reject(new Error('The worker is broken.'));
    };
  });
}

/** Browsers with trusted types. Source: W3C, Trusted Types, "TrustedTypePolicyFactory". */
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
    throw new TypeError(`${address} isn't a script of this page.`);
  },
});

function trustedAddress(name: string): unknown {
  const address = metaContent(name);
  return policy ? policy.createScriptURL(address) : address;
}
