import { type CertificateConfig, CertificateMonitor } from '../../contracts/monitoring.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import { DAY_MS } from '../time/clock.ts';
import { day, expiryWarning } from './certificate.ts';
import { CheckFailure } from './check-result.ts';
import type { ProbedType } from './check-type.ts';
import { admitServerName, type HostPort, parseHostPort } from './host-port.ts';
import { startTls } from './starttls.ts';
import { admitHost } from './target.ts';

/** Example host and default port of each protocol before TLS. */
const DEFAULTS: Record<CertificateConfig['starttls'], { host: string; port: string }> = {
  none: { host: 'example.com', port: '443' },
  smtp: { host: 'mail.example', port: '587' },
  imap: { host: 'mail.example', port: '143' },
  postgres: { host: 'db.example', port: '5432' },
};

function readTarget({ target, config }: CertificateMonitor): HostPort {
  const { host, port } = DEFAULTS[config.starttls];
  return parseHostPort(target, `${host} or ${host}:${port}`, port);
}

/** CERTIFICATE: UP while every certificate of the server is valid for its name and lasts long enough. */
export const certificate: ProbedType<CertificateMonitor> = {
  schema: CertificateMonitor,
  async admit(monitor, tools) {
    const { days_left, down_days, server_name } = monitor.config;
    if (days_left > 0 && down_days >= days_left) {
      throw invalid(
        'config.down_days',
        `must be less than days_left, which is ${days_left}, to leave time for a warning; for no warning, set days_left to 0`,
      );
    }
    admitServerName(server_name);
    await admitHost(readTarget(monitor).hostname, tools);
  },
  limitedHost: (monitor) => readTarget(monitor).hostname,
  contactedHost: (monitor) => readTarget(monitor).hostname,
  async probe(monitor, context, { connect }) {
    const { starttls, server_name: serverName, ignore_tls: ignoreTls, down_days } = monitor.config;
    const at = { protocol: 'https:', ...readTarget(monitor) };
    const socket = await connect(at, context, {
      ignoreTls,
      serverName,
      wholeChain: true,
      beforeTls: starttls === 'none' ? undefined : (plain) => startTls(starttls, plain, context),
    });
    socket.destroy();
    const { certificateEndsMs: endsMs, endsFirst: which = 'the certificate' } = context;
    if (endsMs === undefined) throw new CheckFailure('tls', 'the server sent no certificate');
    const nowMs = Date.now();
    if (endsMs < nowMs) throw new CheckFailure('tls', `${which} expired on ${day(endsMs)}`);
    if (endsMs - nowMs >= down_days * DAY_MS) return;
    const left = expiryWarning(endsMs, down_days, nowMs, which);
    throw new CheckFailure('tls', `${left}; it must be valid for at least ${down_days} more days`);
  },
  degradation({ config }, { certificateEndsMs: endsMs, endsFirst }) {
    if (endsMs === undefined) return undefined;
    const reason = expiryWarning(endsMs, config.days_left, Date.now(), endsFirst);
    return reason === undefined ? undefined : { outcome: 'expiring', reason };
  },
};
