import { MonitorCreate, type MonitorCreateInput } from '../../src/contracts/monitoring.ts';
import { KEYWORD, type Upstream } from './hosts.ts';

/** Makes the definition of monitor number so-and-so. */
type Make = (upstream: Upstream, number: number, seconds: number) => MonitorCreateInput;

const pick = (from: readonly string[], number: number) => from[number % from.length] ?? '';

const page: Make = ({ http }, number, seconds) => ({
  check_type: 'HTTP',
  name: `page ${number}`,
  target: `http://${pick(http, number)}/m/${number}`,
  config: { interval_seconds: seconds },
});

const securePage: Make = ({ https }, number, seconds) => ({
  check_type: 'HTTP',
  name: `secure page ${number}`,
  target: `https://${pick(https, number)}/m/${number}`,
  config: { interval_seconds: seconds },
});

const keyword: Make = ({ http }, number, seconds) => ({
  check_type: 'KEYWORD',
  name: `keyword ${number}`,
  target: `http://${pick(http, number)}/m/${number}`,
  config: { interval_seconds: seconds, target_keyword: KEYWORD },
});

const name: Make = ({ resolver }, number, seconds) => ({
  check_type: 'DNS',
  name: `name ${number}`,
  target: `m${number}.bench.test`,
  config: { interval_seconds: seconds, resolver },
});

const port: Make = ({ http }, number, seconds) => ({
  check_type: 'TCP',
  name: `port ${number}`,
  target: pick(http, number),
  config: { interval_seconds: seconds },
});

const certificate: Make = ({ https }, number, seconds) => ({
  check_type: 'CERTIFICATE',
  name: `certificate ${number}`,
  target: pick(https, number),
  config: { interval_seconds: seconds },
});

const silent: Make = ({ silent }, number, seconds) => ({
  check_type: 'HTTP',
  name: `silent page ${number}`,
  target: `http://${pick(silent, Math.floor(number / MIX.length))}/m/${number}`,
  config: { interval_seconds: seconds },
});

const heartbeat: Make = (_upstream, number) => ({
  check_type: 'HEARTBEAT',
  name: `job ${number}`,
  target: `job ${number}`,
});

/** A tenth times out. */
const MIX: readonly Make[] = [
  silent,
  page,
  securePage,
  page,
  keyword,
  page,
  name,
  page,
  keyword,
  page,
];

const mixed: Make = (upstream, number, seconds) =>
  (MIX[number % MIX.length] ?? page)(upstream, number, seconds);

/** True if this monitor of `mixed` never gets a response. */
export const isSilent = (number: number) => MIX[number % MIX.length] === silent;

const KINDS = { page, securePage, name, port, certificate, mixed, heartbeat };
export type Kind = keyof typeof KINDS;

/** Defines `count` monitors of a kind, numbered from 0. */
export function definitionsOf(
  kind: Kind,
  options: { upstream: Upstream; count: number; seconds: number },
): MonitorCreate[] {
  const { upstream, count, seconds } = options;
  return Array.from({ length: count }, (_, number) =>
    MonitorCreate.parse(KINDS[kind](upstream, number, seconds)),
  );
}
