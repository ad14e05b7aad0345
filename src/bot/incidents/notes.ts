import type { Card, Fact } from '../shared/card.ts';
import { shortened } from '../shared/text-format.ts';
import type { Alert, Note } from './watch-state.ts';

/** Notes kept of an incident, the newest. */
const MAX_NOTES = 20;
const MAX_NOTE_LENGTH = 500;

/** Notes that an alert shows, and how much of each. */
const SHOWN = 3;
const SHOWN_LENGTH = 200;

/** Tells people under an alert that there are notes. */
export const NOTE_HINT = 'Reply “note: …” to keep a note here';

/** What somebody wants to be kept with an incident, not answered: what follows `note:`. Pure. */
export function noteIn(said: string): string | undefined {
  const text = /^\s*note:(.*)$/is.exec(said)?.[1];
  return text?.replace(/\s+/g, ' ').trim();
}

/** A alert that keeps one more note. Pure. */
export function withNote<T extends Extract<Alert, { notes?: unknown }>>(alert: T, note: Note): T {
  const kept = { ...note, text: shortened(note.text, MAX_NOTE_LENGTH) };
  const notes = [...(alert.notes ?? []), kept].slice(-MAX_NOTES);
  return { ...alert, version: alert.version + 1, notes };
}

/** The newest notes, as an alert shows them. Pure. */
export function noteFacts({ notes = [] }: { notes?: Note[] | undefined }): Fact[] {
  return notes
    .slice(-SHOWN)
    .map(({ by, text }) => ({ label: `Note by ${by}`, value: shortened(text, SHOWN_LENGTH) }));
}

/** Says that a note is kept. Pure. */
export function notedCard(text: string): Card {
  const cut =
    text.length > MAX_NOTE_LENGTH ? ` Only its first ${MAX_NOTE_LENGTH} characters are kept.` : '';
  return {
    tone: 'info',
    title: 'Noted',
    parts: [
      { kind: 'text', text: `The alert shows it, and answers in this thread know it.${cut}` },
    ],
  };
}
