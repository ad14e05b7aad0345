import { useEffect, useState } from 'preact/hooks';

/** What `read` finds in the part of the address behind `#`, and the way to say at once what it is going to be. */
export function useHash<T>(read: () => T) {
  const [found, setFound] = useState(read);
  useEffect(() => {
    const follow = () => setFound(read());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return [found, setFound] as const;
}
