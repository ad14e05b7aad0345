import { CheckFailure } from './check-result.ts';

/** Steps of a check, in the order of a web check. */
type CheckStep = 'name' | 'connection' | 'starttls' | 'handshake' | 'answer' | 'body';

/** One check of a target: its deadline, and details for its result and the sentence of a failure. */
export interface CheckContext {
  /** Aborts at the deadline, with the failure as its reason, or when the service closes. */
  signal: AbortSignal;
  timeoutMs: number;
  step: CheckStep;
  /** The current peer in words, such as `203.0.113.7:443`; never an address that the guard refused. */
  peer: string;
  /** Says what is missing in an incomplete answer. */
  missing?: () => string;
  redirected: boolean;
  /** Earliest end of the server's certificates, Unix milliseconds. */
  certificateEndsMs?: number;
  /** That certificate in words, if it isn't the server's own. */
  endsFirst?: string;
}

export function outOfTime({ step, peer, timeoutMs, missing }: CheckContext): CheckFailure {
  const within = `within ${timeoutMs / 1000} s`;
  return new CheckFailure('timeout', `${missing?.() ?? WAITED_FOR[step](peer)} ${within}`);
}

const WAITED_FOR: Record<CheckStep, (peer: string) => string> = {
  name: () => 'the name could not be looked up',
  connection: (peer) => `no connection to ${peer}`,
  starttls: (peer) => `no reply to STARTTLS from ${peer}`,
  handshake: (peer) => `no TLS handshake with ${peer}`,
  answer: (peer) => `no answer from ${peer}`,
  body: (peer) => `no complete answer from ${peer}`,
};

/** Addresses as people read them, such as `203.0.113.7:443`, `[2001:db8::7]:443` or `203.0.113.7:443 and 3 more`. */
export function peerInWords(addresses: readonly string[], port: number): string {
  const [first = '', second, ...more] = addresses.map((address) =>
    address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
  );
  if (second === undefined) return first;
  return more.length === 0 ? `${first} and ${second}` : `${first} and ${more.length + 1} more`;
}
