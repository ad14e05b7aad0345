import type { ShownForm } from '../../shared/api-types.ts';

/** Where somebody writes or does something: in a channel, or in a thread of it. */
export interface Where {
  channel: string;
  thread?: string;
}

/** A form that is being filled in, and where what it asks for is shown. */
export interface OpenForm {
  form: ShownForm;
  where: Where;
}

/** The lines on their way to the server, by the names they were typed under. */
const underWay = new Set<string>();

/** What was typed under this name and not sent, kept by the tab: neither a login nor a reload loses it. */
export function keptDraft(name: string): string {
  const draft = read(keyOf(name));
  // One that was under way when the page ended may not have arrived.
  return draft === '' && !underWay.has(name) ? read(sentKeyOf(name)) : draft;
}

/** Keeps it; an empty one is forgotten. */
export function keepDraft(name: string, text: string): void {
  keep(keyOf(name), text);
}

/** Keeps a line while it is sent, also beyond the end of the page; what it returns is called with whether it has arrived. */
export function keepWhileSent(name: string, text: string): (arrived: boolean) => void {
  underWay.add(name);
  keep(sentKeyOf(name), text);
  return (arrived) => {
    underWay.delete(name);
    keep(sentKeyOf(name), '');
    if (!arrived && keptDraft(name) === '') keepDraft(name, text);
  };
}

/** The form that was being filled in when the page ended; it is given once. */
export function keptForm(): OpenForm | undefined {
  const text = read(FORM_KEY);
  // Kept again once it is shown: one of another version of the page must not break this one at every start.
  keep(FORM_KEY, '');
  return text === '' ? undefined : (JSON.parse(text) as OpenForm);
}

/** Keeps it with the values it has by now; `undefined` when there is none. */
export function keepForm(open: OpenForm | undefined): void {
  keep(FORM_KEY, open ? JSON.stringify(open) : '');
}

/** The rating that this person gave an answer in this tab; empty without one. A reload keeps it. */
export const keptRating = (answer: string) => read(ratingKeyOf(answer));

/** Keeps a rating; an empty one is deleted. */
export const keepRating = (answer: string, rating: string) => keep(ratingKeyOf(answer), rating);

/** Forgets all of them. */
export function forgetDrafts(): void {
  try {
    sessionStorage.clear();
  } catch {
    // Switched off: there are none.
  }
}

const FORM_KEY = 'form';
const keyOf = (name: string) => `draft ${name}`;
const sentKeyOf = (name: string) => `sent ${name}`;
const ratingKeyOf = (answer: string) => `rating ${answer}`;

function read(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? '';
  } catch {
    // Storage is switched off in this browser.
    return '';
  }
}

function keep(key: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // Switched off, or full: then it is kept only as long as the page is.
  }
}
