/** A monitor of the storm and what truly became of it. */
export interface WatchedMonitor {
  id: string;
  name: string;
  team: number;
  /** Channels that receive its alerts. */
  channels: string[];
  outages: number;
  isDown: boolean;
  /** Number of polls before the change; 0 once a poll has certainly noticed it. */
  changedAt: number;
}

/** An alert message in its current form. */
export interface AlertMessage {
  /** The id in the message's metadata. */
  id: string;
  title: string;
  facts: Array<{ label: string; value: string }>;
  footer: string;
  /** The titles that it has shown, oldest first. */
  titles: string[];
  /** The number of lines in its thread. */
  lines: number;
}

/** Alerts compared with the actual outages. */
export interface Verdict {
  messages: number;
  lines: number;
  /** Outages that a channel should have received. */
  due: number;
  lost: string[];
  doubled: string[];
  /** Monitors that a channel shows down or not, other than they are. */
  untrue: string[];
  /** Recoveries without an outage alert. */
  unfounded: string[];
  /** Outage alerts without a recovery. */
  unended: string[];
}

/** The verdict without errors. */
export const CLEAN = { lost: [], doubled: [], untrue: [], unfounded: [], unended: [] };

interface Channels {
  alerts(channel: string): AlertMessage[];
  lines(channel: string): string[];
}

/** Reads every channel and compares it with the truth. */
export function judge(shown: Channels, monitors: readonly WatchedMonitor[]): Verdict {
  const verdict: Verdict = {
    ...{ messages: 0, lines: 0, due: 0 },
    ...{ lost: [], doubled: [], untrue: [], unfounded: [], unended: [] },
  };
  for (const channel of new Set(monitors.flatMap(({ channels }) => channels))) {
    const alerts = shown.alerts(channel);
    const lines = shown.lines(channel);
    verdict.messages += alerts.length;
    verdict.lines += lines.length;
    verdict.doubled.push(
      ...repeated(alerts.map(({ id }) => id)),
      ...repeated(alerts.map(({ footer }) => /Incident \w+/.exec(footer)?.[0] ?? footer)),
      ...repeated(lines),
    );
    verdict.unfounded.push(...alerts.filter(isUnfounded).map(({ title }) => title));
    verdict.unended.push(...alerts.filter(isUnended).map(({ title }) => title));
    for (const monitor of monitors) {
      if (monitor.channels.includes(channel)) judgeMonitor(verdict, alerts, monitor);
    }
  }
  return verdict;
}

function judgeMonitor(verdict: Verdict, alerts: readonly AlertMessage[], monitor: WatchedMonitor) {
  const { name, outages, isDown } = monitor;
  const said = alerts.flatMap((alert) => saidOf(alert, name));
  const told = said.reduce((sum, one) => sum + one.outages, 0);
  verdict.due += outages;
  const titles = alerts.map(({ title }) => title).join(', ');
  const what = `${name}: ${outages} outages, ${told} told in [${titles}]`;
  if (told < outages) verdict.lost.push(what);
  if (told > outages) verdict.doubled.push(what);
  const downs = said.filter((one) => one.isDown).length;
  if (downs !== (isDown ? 1 : 0)) {
    verdict.untrue.push(`${name} is ${isDown ? 'down' : 'up'}, ${downs} say down`);
  }
}

/** Returns the part of a message about a monitor: all of it, one line, or nothing. */
export function saidOf({ title, facts }: Pick<AlertMessage, 'title' | 'facts'>, name: string) {
  const line = facts.find(({ label }) => label === name)?.value;
  if (line !== undefined) {
    const [, times = '1'] = /, (?:down|fired) (\d+) times/.exec(line) ?? [];
    return [{ outages: Number(times), isDown: /^(down(:|,|$)|firing)/.test(line) }];
  }
  const isAbout = `${title.replace(/^[A-Z ]+: /, '')} `.startsWith(`${name} `);
  if (!isAbout) return [];
  const [earlier = '0'] =
    facts.find(({ label }) => /^Also (down|fired) before$/.test(label))?.value.split(' ') ?? [];
  const isDown = [`${name} is down`, `FIRING: ${name}`].includes(title);
  return [{ outages: 1 + Number(earlier), isDown }];
}

/** True for titles of ongoing outages and of active alerts from other systems. */
export const goesOn = (title: string) =>
  / (is|are) (still )?(down|not up|active)|^(STILL )?FIRING: /.test(title);

const isUnfounded = ({ title, titles }: AlertMessage) =>
  / recovered| resolved|^RESOLVED: /.test(title) && !titles.some(goesOn);

const isUnended = ({ title, titles, lines }: AlertMessage) =>
  !goesOn(title) && titles.some(goesOn) && lines === 0;

function repeated(names: readonly string[]): string[] {
  return names.filter((name, at) => names.indexOf(name) !== at);
}
