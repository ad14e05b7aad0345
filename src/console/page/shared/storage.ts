/** Kept as long as the tab is open, or in the browser. */
type StorageName = 'sessionStorage' | 'localStorage';

export function readKept(storage: StorageName, key: string): string {
  try {
    return window[storage].getItem(key) ?? '';
  } catch {
    // Storage is switched off in this browser.
    return '';
  }
}

export function keep(storage: StorageName, key: string, text: string): void {
  try {
    window[storage].setItem(key, text);
  } catch {
    // Without storage, a reload forgets the text.
  }
}
