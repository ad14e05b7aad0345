import { counted, inWords } from '../../../shared/from-bot.ts';
import type { StatusDetails, StatusMonitor } from '../../../status/api-types.ts';
import { Fact } from '../../shared/fact.tsx';
import { ToneIcon } from '../../shared/icons.tsx';
import { Moment } from '../../shared/moment.tsx';
import { agoText } from '../text-format.ts';
import { useNowMs } from '../use-status.ts';

const DAY_MS = 86_400_000;

const CERTIFICATE_WARNING_DAYS = 14;

export function FactsPanel(props: { details: StatusDetails; monitor: StatusMonitor }) {
  const { details, monitor } = props;
  const nowMs = useNowMs(1_000);
  const { interval_seconds, certificate_ends_at, heartbeat, maintenance, runbook } = details;
  const { last_checked_at, status_changed_at, tags } = monitor;
  return (
    <section class="panel framed" aria-label="Facts">
      <h2>Facts</h2>
      <dl class="facts">
        <Fact label="Type">{kindWords(monitor.check_type)}</Fact>
        {tags && <Fact label="Tags">{tags.join(', ')}</Fact>}
        {interval_seconds !== undefined && !heartbeat && (
          <Fact label="Checked every">{inWords(interval_seconds * 1_000)}</Fact>
        )}
        {last_checked_at !== undefined && !heartbeat && (
          <Fact label="Last check">{agoText(Date.parse(last_checked_at), nowMs)}</Fact>
        )}
        {status_changed_at !== undefined && (
          <Fact label="Current status since">
            <Moment atMs={Date.parse(status_changed_at)} />
          </Fact>
        )}
        {heartbeat && <Fact label="Expected">{heartbeat.expected}</Fact>}
        {heartbeat && (
          <Fact label="Last report">
            {heartbeat.last_signal_at === null
              ? 'None yet'
              : agoText(Date.parse(heartbeat.last_signal_at), nowMs)}
          </Fact>
        )}
        {certificate_ends_at !== null && (
          <Fact label="Certificate">
            <Certificate leftMs={Date.parse(certificate_ends_at) - nowMs} />
          </Fact>
        )}
        {maintenance.map((sentence) => (
          <Fact key={sentence} label="Maintenance">
            {sentence}
          </Fact>
        ))}
        {runbook && (
          <Fact label="Runbook" wide>
            {runbook.url === undefined ? (
              runbook.text
            ) : (
              <a href={runbook.url} target="_blank" rel="noopener noreferrer">
                {runbook.text}
              </a>
            )}
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Certificate({ leftMs }: { leftMs: number }) {
  const days = Math.floor(Math.abs(leftMs) / DAY_MS);
  const text =
    leftMs < 0 ? `expired ${counted(days, 'day')} ago` : `expires in ${counted(days, 'day')}`;
  const tone = leftMs < 0 ? 'bad' : 'warning';
  if (leftMs >= CERTIFICATE_WARNING_DAYS * DAY_MS) return <>{text}</>;
  return (
    <span class={`warned ${tone}`}>
      <ToneIcon tone={tone} />
      {text}
    </span>
  );
}

const KINDS: Record<string, string> = {
  HTTP: 'Web address',
  KEYWORD: 'Keyword on a page',
  DNS: 'DNS record',
  TCP: 'Port',
  CERTIFICATE: 'Certificate',
  HEARTBEAT: 'Heartbeat',
};

const kindWords = (checkType: string) => KINDS[checkType] ?? checkType;
