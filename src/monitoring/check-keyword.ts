import type { KeywordConfig } from '../contracts/monitoring.ts';
import { visitPage, type WebCheckTools } from './check-http.ts';
import { CheckFailure, inKilobytes } from './failure.ts';
import { type PageText, readPageText } from './page-text.ts';

/** Passes when the page answers with an expected status and its text holds the keyword, or does not if inverted. */
export async function checkKeyword(
  tools: WebCheckTools,
  { target, config }: { target: string; config: KeywordConfig },
  signal: AbortSignal,
): Promise<void> {
  const page = await visitPage(tools, { target, config }, signal, readPageText);
  if (holds(page.text, config) === config.inverted) throw keywordFailure(page, config);
}

/** Plain search, no patterns: linear in the text, whatever the keyword. */
function holds(text: string, { target_keyword: keyword, case_sensitive }: KeywordConfig): boolean {
  if (case_sensitive) return text.includes(keyword);
  return text.toLowerCase().includes(keyword.toLowerCase());
}

function keywordFailure({ bytes, cut }: PageText, { inverted }: KeywordConfig): CheckFailure {
  if (inverted) return new CheckFailure('keyword', 'the keyword is there and should not be');
  const where = cut
    ? `the first ${inKilobytes(bytes)} of text; the rest is not read`
    : `${inKilobytes(bytes)} of text`;
  return new CheckFailure('keyword', `keyword not found in ${where}`);
}
