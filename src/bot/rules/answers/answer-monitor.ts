import { bold, plain } from '../../shared/inert-markdown.ts';
import { answerOf, type GivenMonitor, reasonBehind, remarks } from './parts.ts';
import { momentOf, type Speech } from './speech.ts';

/** What `get_monitor` and `check_monitor` give. */
interface Given {
  as_of: string;
  monitor: GivenMonitor;
  interval_seconds?: number;
  certificate_ends_at?: string;
  last_checks?: unknown[];
}

/** What `list_check_results` gives. */
interface GivenChecks {
  as_of: string;
  monitor: string;
  results: Array<{ at: string; ok: boolean; reason?: string; response_time_ms: number }>;
}

type Answer = (output: Record<string, unknown>, speech: Speech) => string;

const given = (output: Record<string, unknown>) => output as unknown as Given;

/** How one monitor is, since when and why. */
export const answerStatus =
  ({ isChecked = false } = {}): Answer =>
  (output, speech) => {
    const { as_of, monitor } = given(output);
    const { words, time, since } = speech;
    const nowMs = momentOf(as_of);
    const name = bold(monitor.name);
    const status = plain(monitor.status, 20);
    const sentence =
      monitor.since === undefined
        ? words.status(name, status)
        : words.statusSince(name, status, since(monitor.since, nowMs));
    const { last_checked_at: checked, response_time_ms: ms, check_type } = monitor;
    const took =
      ms === undefined || check_type.toUpperCase() === 'HEARTBEAT'
        ? ''
        : `, ${speech.responseTime(ms)}`;
    const rows = [
      ...(checked === undefined ? [] : [`${words.lastCheck}: ${time(checked, nowMs)}${took}`]),
      ...(isChecked ? [words.checkedNow] : []),
      ...remarks(monitor, speech),
    ];
    return answerOf(`${sentence}${reasonBehind(monitor.reason)}`, { rows }, speech);
  };

/** Whether one monitor goes up and down all the time. */
export const answerFlaps: Answer = (output, speech) => {
  const { monitor } = given(output);
  const { words } = speech;
  return answerOf(
    `${bold(monitor.name)}: ${monitor.flapping ? words.flapping : words.notFlapping} (${plain(monitor.status, 20)})`,
    {},
    speech,
  );
};

/** How long its certificate is good. */
export const answerCertificate: Answer = (output, { words, time }) => {
  const { as_of, monitor, certificate_ends_at: ends } = given(output);
  const name = bold(monitor.name);
  if (ends === undefined) return words.noCertificate(name);
  const nowMs = momentOf(as_of);
  const said = momentOf(ends) > nowMs ? words.certificate : words.certificateEnded;
  return `${said(name, time(ends, nowMs))}.`;
};

/** How often it is checked. */
export const answerInterval: Answer = (output, { words, length }) => {
  const { monitor, interval_seconds: seconds } = given(output);
  const name = bold(monitor.name);
  if (seconds === undefined) return words.noInterval(name);
  const isJob = monitor.check_type.toUpperCase() === 'HEARTBEAT';
  return (isJob ? words.intervalOfJob : words.interval)(name, length(seconds * 1000));
};

/** Its last checks, one by one. */
export const answerChecks: Answer = (output, speech) => {
  const { as_of, monitor, results } = output as unknown as GivenChecks;
  const { words, number, time } = speech;
  const name = bold(monitor);
  if (results.length === 0) return words.noChecks(name);
  const failed = results.filter(({ ok }) => !ok).length;
  const nowMs = momentOf(as_of);
  const rows = results.map(
    ({ at, ok, reason, response_time_ms: ms }) =>
      `${time(at, nowMs, { seconds: true })}: ${ok ? words.passed : words.failedOnce}, ${speech.responseTime(ms)}${reasonBehind(reason)}`,
  );
  const count = words.checks(results.length, number(results.length));
  return answerOf(words.checksOf(name, count, words.failed(number(failed))), { rows }, speech);
};

/** When it was last checked. */
export const answerLastCheck: Answer = (output, speech) => {
  const { as_of, monitor, results } = output as unknown as GivenChecks;
  const { words, time } = speech;
  const [last] = results;
  if (!last) return words.noChecks(bold(monitor));
  const at = time(last.at, momentOf(as_of), { seconds: true });
  const how = `${last.ok ? words.passed : words.failedOnce}, ${speech.responseTime(last.response_time_ms)}`;
  return answerOf(
    `${words.lastChecked(bold(monitor), at)} (${how})${reasonBehind(last.reason)}`,
    {},
    speech,
  );
};
