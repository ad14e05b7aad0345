const keyOf = (name: string) => `draft ${name}`;

/** What was typed under this name and not sent, kept by the tab: neither a login nor a reload loses it. */
export function keptDraft(name: string): string {
  try {
    return sessionStorage.getItem(keyOf(name)) ?? '';
  } catch {
    // Storage is switched off in this browser.
    return '';
  }
}

/** Keeps it; an empty one is forgotten. */
export function keepDraft(name: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(keyOf(name));
    else sessionStorage.setItem(keyOf(name), text);
  } catch {
    // Switched off, or full: then it is kept only as long as the page is.
  }
}

/** Forgets all of them. */
export function forgetDrafts(): void {
  try {
    sessionStorage.clear();
  } catch {
    // Switched off: there are none.
  }
}
