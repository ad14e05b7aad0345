import { scriptAddress } from '../shared/script-address.ts';

/** How a job ended. */
export type Outcome<Result> =
  | { kind: 'done'; result: Result }
  /** It took too long, and was ended. */
  | { kind: 'late' }
  /** The worker's script could not be loaded, or has a fault. */
  | { kind: 'broken' };

/**
 * What does one kind of work beside the page, so that no text can hold it: a worker of the script `name`, which is loaded
 * when there is something to do. One that does not answer within `limitMs` is ended, and the next job gets another. Jobs are
 * done one after another.
 */
export function createPageWorker<Job, Result>(
  name: string,
  limitMs: number,
): (job: Job) => Promise<Outcome<Result>> {
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function run(job: Job): Promise<Outcome<Result>> {
    try {
      if (!worker) {
        worker = new Worker(addressOf(name) as string, { type: 'module', name });
        // The time that a job may take counts from when it is ready.
        await answerOf(worker);
      }
      const answer = answerOf<Result>(worker, limitMs);
      worker.postMessage(job);
      const outcome = await answer;
      if (outcome.kind === 'late') end();
      return outcome;
    } catch {
      // What has gone wrong stands in the browser's own log.
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

/** What the worker says next; rejected when it breaks. */
function answerOf<Result>(worker: Worker, limitMs?: number): Promise<Outcome<Result>> {
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
    throw new TypeError(`${address} isn't a script of this page.`);
  },
});

/** Where the script is, as one that may run. */
function addressOf(name: string): unknown {
  const address = scriptAddress(name);
  return policy ? policy.createScriptURL(address) : address;
}
