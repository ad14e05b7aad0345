const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Characters that XML can't hold, such as half of a surrogate pair, and marks that reverse the text around them. Sources:
 * XML 1.0 §2.2, Unicode TR 9.
 */
const UNFIT = /[^\P{Cc}\t\n\r]|\p{Cs}|[\ufffe\uffff\u202a-\u202e\u2066-\u2069]/gu;

/** Escapes a text for XML, between tags and in attributes. */
export function xmlText(text: string): string {
  return text.replace(UNFIT, '').replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
}
