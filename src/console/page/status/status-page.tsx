import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { StatusReport } from '../../status/api-types.ts';
import { useLiveState } from '../shared/live-state.ts';
import { TopBar } from '../shared/top-bar.tsx';
import type { StatusClient } from './client.ts';
import { NoMonitors } from './empty.tsx';
import { Headline } from './headline.tsx';
import { StatusList } from './list.tsx';
import { MonitorView } from './monitor/monitor-view.tsx';
import { headlineOf } from './text-format.ts';
import { useMonitorInAddress } from './use-status.ts';

const CONNECTION = {
  connecting: 'Connecting…',
  open: 'Live',
  lost: 'Connection lost, trying again…',
};

/** How all monitors are, or how the opened one is. */
export function StatusPage({ client }: { client: StatusClient }) {
  const { connection, report } = useLiveState(client);
  const opened = useMonitorInAddress();
  const overview = useRef<HTMLDivElement>(null);
  useWayBack(overview, opened);
  const monitor = report?.monitors.find(({ id }) => id === opened);
  useEffect(() => {
    const subject = opened === undefined ? report && headlineOf(report) : monitor?.name;
    document.title = subject ? `${subject} · Status` : 'Status · Askwatch';
  }, [report, opened, monitor]);
  return (
    <>
      <TopBar here="/status">
        <p class={`connection ${connection}`} role="status">
          {CONNECTION[connection]}
        </p>
      </TopBar>
      <main class="status-page">
        {!report && <p class="waiting">Looking…</p>}
        {report && (
          <div ref={overview} hidden={opened !== undefined}>
            <Overview report={report} live={connection === 'open'} />
          </div>
        )}
        {report && opened !== undefined && (
          <MonitorView key={opened} id={opened} live={monitor} client={client} />
        )}
      </main>
    </>
  );
}

function Overview({ report, live }: { report: StatusReport; live: boolean }) {
  return (
    <>
      <Headline report={report} live={live} />
      {report.monitors.length === 0 ? (
        <NoMonitors isPublic={report.public} />
      ) : (
        <StatusList monitors={report.monitors} />
      )}
      <footer class="elsewhere">
        <a href="/status.json">JSON</a>
        <a href="/status/feed.xml">Feed of incidents</a>
        <a href="/status/badge.svg">Badge</a>
      </footer>
    </>
  );
}

/** Whoever comes back from a monitor finds the list where it was, with the focus on what was opened. */
function useWayBack(
  overview: { current: HTMLDivElement | null },
  opened: string | undefined,
): void {
  const left = useRef<{ id: string; scrollPx: number } | null>(null);
  // Where the list stands is known only before it is hidden.
  if (opened !== undefined && !left.current) {
    left.current = { id: opened, scrollPx: window.scrollY };
  }
  useLayoutEffect(() => {
    if (opened !== undefined) return window.scrollTo(0, 0);
    const { id, scrollPx } = left.current ?? {};
    left.current = null;
    if (id === undefined || scrollPx === undefined) return;
    window.scrollTo(0, scrollPx);
    overview.current
      ?.querySelector<HTMLElement>(`[data-id=${CSS.escape(id)}] a`)
      ?.focus({ preventScroll: true });
  }, [opened, overview]);
}
