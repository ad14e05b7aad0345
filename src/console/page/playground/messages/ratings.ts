const keyOf = (answer: string) => `rating ${answer}`;

/** The rating that this person gave an answer, as long as the tab is open; empty without one. */
export function readRating(answer: string): string {
  try {
    return sessionStorage.getItem(keyOf(answer)) ?? '';
  } catch {
    // Storage is switched off in this browser.
    return '';
  }
}

export function storeRating(answer: string, rating: string): void {
  try {
    sessionStorage.setItem(keyOf(answer), rating);
  } catch {
    // Without storage, a reload forgets the rating.
  }
}
