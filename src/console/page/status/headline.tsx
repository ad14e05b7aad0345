import { inWords } from '../../shared/from-bot.ts';
import type { StatusReport } from '../../status/api-types.ts';
import { StatusIcon } from './icon.tsx';
import { agoText, headlineOf } from './text-format.ts';
import { useNowMs } from './use-status.ts';

/** The state of all in one sentence, and when it was looked at. */
export function Headline({ report, live }: { report: StatusReport; live: boolean }) {
  const { overall, generated_at, notice, monitors } = report;
  const icon = monitors.length === 0 ? 'unknown' : overall;
  return (
    <>
      <section class={`headline ${icon}`} aria-label="All together">
        <StatusIcon condition={icon} />
        <div>
          <h1 aria-live="polite" tabIndex={-1}>
            {headlineOf(report)}
          </h1>
          <Looked atMs={Date.parse(generated_at)} live={live && notice === undefined} />
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

/** The server says something when there is news, and at least every minute while checks come in. */
const NEWS_WITHIN_MS = 90_000;

function Looked({ atMs, live }: { atMs: number; live: boolean }) {
  const nowMs = useNowMs(1_000);
  const isQuiet = live && nowMs - atMs > NEWS_WITHIN_MS;
  return (
    <p class="looked">
      {isQuiet ? `Nothing new for ${inWords(nowMs - atMs)}` : `Looked ${agoText(atMs, nowMs)}`}
    </p>
  );
}
