import { useHash } from '../shared/use-hash.ts';

/** A place of the page: `#/general/<message>` is the thread under a message of a channel. */
export interface ChatAddress {
  channel: string;
  root: string | undefined;
}

export function useAddress(): [ChatAddress, (next: ChatAddress) => void] {
  const [address, setAddress] = useHash(readAddress);
  const go = (next: ChatAddress) => {
    // `hashchange` comes later, but the next action must already find the new address.
    setAddress(next);
    location.hash = hashOf(next);
  };
  return [address, go];
}

export function hashOf({ channel, root }: ChatAddress): string {
  const parts = root === undefined ? [channel] : [channel, root];
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

export function readAddress(): ChatAddress {
  const [, channel, root] = /^#\/([^/]+)(?:\/([^/]+))?$/.exec(location.hash) ?? [];
  try {
    return {
      channel: decodeURIComponent(channel ?? 'general'),
      root: root === undefined ? undefined : decodeURIComponent(root),
    };
  } catch {
    // The page never writes such an address.
    return { channel: 'general', root: undefined };
  }
}
