const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * What XML cannot hold, such as half of a surrogate pair, and what turns the direction of the text around it. Sources:
 * XML 1.0 §2.2, Unicode TR 9.
 */
const UNFIT = /[^\P{Cc}\t\n\r]|\p{Cs}|[\ufffe\uffff\u202a-\u202e\u2066-\u2069]/gu;

/** A text as it may stand in XML, between tags and in an attribute. */
export function xmlText(text: string): string {
  return text.replace(UNFIT, '').replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
}
