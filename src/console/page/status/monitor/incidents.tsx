import type { StatusIncident } from '../../../status/api-types.ts';
import { Fact } from '../../shared/fact.tsx';
import { needSeconds } from '../../shared/is-short.ts';
import { Moment } from '../../shared/moment.tsx';
import { durationText, statusText } from '../text-format.ts';
import { useNowMs } from '../use-status.ts';

/** Outages of a monitor, newest first; the clock of an ongoing one runs. */
export function Incidents({ incidents }: { incidents: readonly StatusIncident[] }) {
  const nowMs = useNowMs(1_000);
  return (
    <section class="panel framed" aria-label="Incidents">
      <h2>Incidents</h2>
      {incidents.length === 0 && <p class="none">No incidents recorded.</p>}
      <ol class="incidents">
        {incidents.map((incident) => (
          <li key={incident.id} class={incident.ended_at === null ? 'ongoing' : 'over'}>
            <h3 class="digits">
              Down for <span class="lasted">{durationText(incident, nowMs)}</span>
            </h3>
            <dl>
              <Fact label="Started">
                <Moment atMs={Date.parse(incident.started_at)} seconds={wasShort(incident)} />
                <span class="cause">{incident.cause ?? outcomeText(incident.outcome)}</span>
              </Fact>
              <Fact label="Ended">
                {incident.ended_at === null ? 'Ongoing' : <End incident={incident} />}
              </Fact>
            </dl>
          </li>
        ))}
      </ol>
    </section>
  );
}

const wasShort = ({ started_at, ended_at }: StatusIncident) =>
  ended_at !== null && needSeconds([Date.parse(started_at), Date.parse(ended_at)]);

function End({ incident }: { incident: StatusIncident }) {
  const { ended_as } = incident;
  return (
    <>
      <Moment atMs={Date.parse(incident.ended_at ?? '')} seconds={wasShort(incident)} />
      {ended_as !== null && <span class="cause">{statusText({ status: ended_as })}</span>}
    </>
  );
}

/** `connection_refused` as `connection refused`. */
const outcomeText = (outcome: string) => outcome.replaceAll('_', ' ').toLowerCase();
