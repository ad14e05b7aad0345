import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { inWords } from '../../shared/from-bot.ts';
import { PLAYGROUND_META } from '../../shared/metas.ts';
import type { StatusReport } from '../../status/api-types.ts';
import { taggedPart } from '../../status/tagged.ts';
import { Connection } from '../shared/connection.tsx';
import { CopyButton } from '../shared/copy-button.tsx';
import { Mark } from '../shared/icons.tsx';
import { useLiveState } from '../shared/live-state.ts';
import { metaContent } from '../shared/meta.ts';
import { TopBar } from '../shared/top-bar.tsx';
import { useHash } from '../shared/use-hash.ts';
import type { StatusClient } from './client.ts';
import { TagGroups } from './groups.tsx';
import { StatusIcon } from './icon.tsx';
import { StatusList } from './list.tsx';
import { Maintenance } from './maintenance.tsx';
import { MonitorView } from './monitor/monitor-view.tsx';
import { agoText, headlineOf } from './text-format.ts';
import { monitorInAddress, useNowMs, useTag } from './use-status.ts';

export function StatusPage(props: {
  client: StatusClient;
  /** True if the server drew the page for a stranger; the report decides once it is loaded. */
  isForStrangers: boolean;
}) {
  const { client, isForStrangers } = props;
  const { connection, report: whole } = useLiveState(client);
  const [tag, setTag] = useTag();
  const report = useMemo(
    () => (whole && tag !== undefined ? taggedPart(whole, tag) : whole),
    [whole, tag],
  );
  const [opened] = useHash(monitorInAddress);
  const overview = useRef<HTMLDivElement>(null);
  useWayBack(overview, opened);
  const isStranger = report?.public ?? isForStrangers;
  const monitor = whole?.monitors.find(({ id }) => id === opened);
  useEffect(() => {
    const subject = opened === undefined ? report && headlineOf(report, tag) : monitor?.name;
    const name = isStranger ? 'Status' : 'Status · Askwatch';
    document.title = subject ? `${subject} · Status` : name;
  }, [report, tag, opened, monitor]);
  return (
    <>
      <TopBar here="/status" isForStrangers={isStranger}>
        <Connection state={connection} />
      </TopBar>
      <main class="status-page column">
        {!report && <p class="waiting">Loading…</p>}
        {whole && report && (
          <div ref={overview} hidden={opened !== undefined}>
            <Overview
              {...{ report, all: whole.monitors, tag }}
              live={connection === 'open'}
              onTag={setTag}
            />
          </div>
        )}
        {report && opened !== undefined && (
          <MonitorView
            key={opened}
            id={opened}
            live={monitor}
            client={client}
            canManage={!isStranger && metaContent(PLAYGROUND_META) !== ''}
          />
        )}
      </main>
    </>
  );
}

function Overview(props: {
  /** Limited to the tag. */
  report: StatusReport;
  all: StatusReport['monitors'];
  tag: string | undefined;
  live: boolean;
  onTag: (tag: string | undefined) => void;
}) {
  const { report, all, tag, live, onTag } = props;
  const query = tag === undefined ? '' : `?tag=${encodeURIComponent(tag)}`;
  return (
    <>
      <Headline report={report} tag={tag} live={live} />
      {report.maintenance && <Maintenance planned={report.maintenance} />}
      <TagGroups monitors={all} chosen={tag} onChoose={onTag} />
      {all.length === 0 && <NoMonitors isPublic={report.public} />}
      {report.monitors.length > 0 && <StatusList monitors={report.monitors} />}
      {all.length > 0 && report.monitors.length === 0 && (
        <div class="none">
          <p>{`No monitor is tagged ${tag}.`}</p>
          <button type="button" class="link" onClick={() => onTag(undefined)}>
            Show all
          </button>
        </div>
      )}
      <footer class="elsewhere flow">
        <a href={`/status.json${query}`}>JSON</a>
        <a href={`/status/feed.xml${query}`}>Incident feed</a>
        <a href={`/status/badge.svg${query}`}>Badge</a>
      </footer>
    </>
  );
}

/** Restores the list's scroll position and focus after a monitor is closed. */
function useWayBack(
  overview: { current: HTMLDivElement | null },
  opened: string | undefined,
): void {
  const origin = useRef<{ id: string; scrollPx: number } | null>(null);
  // The scroll position is known only before the list is hidden.
  if (opened !== undefined && !origin.current) {
    origin.current = { id: opened, scrollPx: window.scrollY };
  }
  useLayoutEffect(() => {
    if (opened !== undefined) return window.scrollTo(0, 0);
    const { id, scrollPx } = origin.current ?? {};
    origin.current = null;
    if (id === undefined || scrollPx === undefined) return;
    window.scrollTo(0, scrollPx);
    overview.current
      ?.querySelector<HTMLElement>(`[data-id=${CSS.escape(id)}] a`)
      ?.focus({ preventScroll: true });
  }, [opened, overview]);
}

/** The state of all monitors in one sentence, with the time of the update. */
function Headline(props: { report: StatusReport; tag: string | undefined; live: boolean }) {
  const { report, tag, live } = props;
  const { overall, generated_at, notice, monitors } = report;
  const icon = monitors.length === 0 ? 'unknown' : overall;
  return (
    <>
      <section class={`headline ${icon}`} aria-label="All together">
        <StatusIcon condition={icon} />
        <div>
          <h1 aria-live="polite" tabIndex={-1}>
            {headlineOf(report, tag)}
          </h1>
          <LastUpdate atMs={Date.parse(generated_at)} live={live && notice === undefined} />
        </div>
      </section>
      {notice !== undefined && (
        <p class="notice" role="status">
          {notice}
        </p>
      )}
    </>
  );
}

/** The server sends news at once, and times of checks every minute. */
const NEWS_WITHIN_MS = 90_000;

function LastUpdate({ atMs, live }: { atMs: number; live: boolean }) {
  const nowMs = useNowMs(1_000);
  const isQuiet = live && nowMs - atMs > NEWS_WITHIN_MS;
  return (
    <p>{isQuiet ? `No update for ${inWords(nowMs - atMs)}` : `Updated ${agoText(atMs, nowMs)}`}</p>
  );
}

const LINE = '/monitor add https://example.com';

function NoMonitors({ isPublic }: { isPublic: boolean }) {
  return (
    <section class="nothing welcome">
      <Mark />
      <h2>No monitors yet</h2>
      {isPublic ? (
        <p>Monitors appear here once they are added.</p>
      ) : (
        <>
          <p>
            Add a monitor in the <a href="/">playground</a>, or in Slack or Discord. It appears here
            right away.
          </p>
          <p class="snippet flow beside">
            <code class="framed">{LINE}</code>
            <CopyButton text={LINE} />
          </p>
        </>
      )}
    </section>
  );
}
