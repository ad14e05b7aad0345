import { useContext, useEffect, useState } from 'preact/hooks';
import { Reader } from '../reader-context.ts';
import type { Completion, Suggested, Suggestion } from './completion.ts';

/** What the server offers for the input that is being typed; nothing until it has answered for just these letters. */
export function useOffered(ask: Completion['ask']): Suggestion[] {
  const { suggest } = useContext(Reader);
  const [offered, setOffered] = useState<{ key: string; list: Suggested[] }>();
  const key = ask ? `${ask.input} ${ask.typed}` : '';

  useEffect(() => {
    if (!ask) return;
    const typedOn = new AbortController();
    void suggest(ask.input, ask.typed, typedOn.signal).then((list) => {
      if (!typedOn.signal.aborted) setOffered({ key, list });
    });
    return () => typedOn.abort();
  }, [key]);

  if (!ask || offered?.key !== key) return [];
  return offered.list
    .filter(({ value }) => value !== ask.typed)
    .map(({ label, value }) => ({ line: ask.lineWith(value), label, detail: '' }));
}
