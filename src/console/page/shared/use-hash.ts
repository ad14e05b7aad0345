import { useEffect, useState } from 'preact/hooks';

/** Follows what `read` finds in the address behind `#`. The setter applies a new value at once. */
export function useHash<T>(read: () => T) {
  const [found, setFound] = useState(read);
  useEffect(() => {
    const follow = () => setFound(read());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return [found, setFound] as const;
}
