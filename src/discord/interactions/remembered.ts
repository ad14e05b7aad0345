import { randomBytes } from 'node:crypto';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { QuotedMessage } from '../../bot/shared/people-messages.ts';

const MAX_KEPT = 200;

/** Values in memory only, the newest ones. */
class Recent<T> {
  private readonly kept = new Map<string, T>();

  keep(key: string, value: T): void {
    this.kept.delete(key);
    this.kept.set(key, value);
    forgetOldest(this.kept, MAX_KEPT);
  }

  get(key: string): T | undefined {
    return this.kept.get(key);
  }
}

/** Rejected forms, for people who open them again. An address may hold a password, so they are stored nowhere. */
export class Drafts extends Recent<Record<string, string>> {
  /** Returns the id for the button that opens the form again. */
  add(values: Record<string, string>): string {
    const id = randomBytes(9).toString('base64url');
    this.keep(id, values);
    return id;
  }
}

/** Messages that people chose to ask about, until they send the form. A forgotten one is read again. */
export class ChosenMessages extends Recent<QuotedMessage> {}
