import { type KeywordConfig, KeywordMonitor } from '../../contracts/monitoring.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import { type PageText, readPageText } from './body-reader.ts';
import { CheckFailure, inKilobytes } from './check-result.ts';
import type { ProbedType } from './check-type.ts';
import { ofPages, visitPage } from './http.ts';

/** KEYWORD: UP when a page answers with an expected status and its text holds the keyword, or does not if inverted. */
export const keyword: ProbedType<KeywordMonitor> = {
  ...ofPages,
  schema: KeywordMonitor,
  async admit(monitor, tools) {
    if (monitor.config.method === 'HEAD') {
      throw invalid('config.method', 'an answer to HEAD has no body; use GET');
    }
    await ofPages.admit(monitor, tools);
  },
  async probe(monitor, context, tools) {
    const { config } = monitor;
    const page = await visitPage(tools, monitor, context, readPageText);
    if (holds(page.text, config) === config.inverted) throw keywordFailure(page, config);
  },
};

/** Plain search, no patterns: linear in the text, whatever the keyword. */
function holds(text: string, { target_keyword: keyword, case_sensitive }: KeywordConfig): boolean {
  if (case_sensitive) return text.includes(keyword);
  return text.toLowerCase().includes(keyword.toLowerCase());
}

function keywordFailure({ bytes, cut, kind }: PageText, { inverted }: KeywordConfig): CheckFailure {
  if (inverted) return new CheckFailure('keyword', 'the keyword was found but should not be there');
  if (bytes === 0) return new CheckFailure('keyword', 'keyword not found: the answer is empty');
  const where = cut
    ? `the first ${inKilobytes(bytes)} of ${kind}; the rest was not read`
    : `${inKilobytes(bytes)} of ${kind}`;
  return new CheckFailure('keyword', `keyword not found in ${where}`);
}
