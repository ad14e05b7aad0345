/**
 * Shares a limited amount fairly: each user may hold as much as is still free. A single user holds up to half, two hold a
 * third each, and the next one always finds some. Source: Choudhury and Hahne, "Dynamic queue length thresholds", 1998.
 */
export class FairRoom {
  readonly #size: number;
  readonly #held = new Map<string, number>();
  #used = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Takes an amount for a user; returns false, and takes nothing, if too little would remain for others. */
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
