import { useHash } from '../shared/use-hash.ts';

/** What the address names: `#/general/<message>` is the thread under a message of a channel. */
export interface Address {
  channel: string;
  /** The message whose thread is open. */
  root: string | undefined;
}

/** Where the page is, and the way to another place of it. */
export function useAddress(): [Address, (next: Address) => void] {
  const [address, setAddress] = useHash(readAddress);
  const go = (next: Address) => {
    // At once, so that what is done next finds the page there.
    setAddress(next);
    location.hash = hashOf(next);
  };
  return [address, go];
}

/** The address of a place, as a link has it. */
export function hashOf({ channel, root }: Address): string {
  const parts = root === undefined ? [channel] : [channel, root];
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

/** What the address names this moment. */
export function readAddress(): Address {
  const [, channel, root] = /^#\/([^/]+)(?:\/([^/]+))?$/.exec(location.hash) ?? [];
  try {
    return {
      channel: decodeURIComponent(channel ?? 'general'),
      root: root === undefined ? undefined : decodeURIComponent(root),
    };
  } catch {
    // Nothing that this page has written.
    return { channel: 'general', root: undefined };
  }
}
