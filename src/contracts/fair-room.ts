/**
 * Room that its users share fairly: each may hold as much as is left free for all others. One alone holds up to half, two a third
 * each, and whoever comes next finds some. Source: Choudhury and Hahne, "Dynamic queue length thresholds", 1998.
 */
export class FairRoom {
  readonly #size: number;
  readonly #held = new Map<string, number>();
  #used = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Takes some room for a user; returns false, and takes none, if that is more than is left for others. */
  take(user: string, amount: number): boolean {
    const held = (this.#held.get(user) ?? 0) + amount;
    if (held > this.#size - this.#used - amount) return false;
    this.#held.set(user, held);
    this.#used += amount;
    return true;
  }

  giveBack(user: string, amount: number): void {
    const held = (this.#held.get(user) ?? 0) - amount;
    if (held > 0) this.#held.set(user, held);
    else this.#held.delete(user);
    this.#used -= amount;
  }
}
