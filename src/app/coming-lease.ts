import type { Lease } from '../store/store.ts';

/** A lease that this process is about to get: not held before `take`, and for good no longer once what was taken is lost. */
export class ComingLease implements Lease {
  private taken: Lease | undefined;
  private readonly ended = new AbortController();
  readonly signal = this.ended.signal;

  get fence(): number {
    return this.taken?.fence ?? 0;
  }

  isHeld(): boolean {
    return !this.signal.aborted && (this.taken?.isHeld() ?? false);
  }

  take(lease: Lease): void {
    this.taken = lease;
    const end = () => this.ended.abort();
    if (lease.signal.aborted) end();
    else lease.signal.addEventListener('abort', end, { once: true });
  }

  async release(): Promise<void> {
    this.ended.abort();
    await this.taken?.release();
  }
}
