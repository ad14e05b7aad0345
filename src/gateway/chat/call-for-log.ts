import type { UsageMeter } from '../usage/ledger.ts';

/** What the log may know of a call that has ended: who asked, who answered and what it took; nothing that was said. */
export function callForLog({ record, providerModel }: UsageMeter): object {
  if (!record) return {};
  const { keyId, model, provider, promptTokens, completionTokens, estimated } = record;
  return {
    key: keyId,
    model,
    upstream: provider && `${provider}/${providerModel}`,
    end: record.end,
    firstTokenMs: record.firstTokenMs,
    promptTokens,
    completionTokens,
    estimated,
  };
}
