import type { Monitor } from '../contracts/monitoring.ts';
import type { Missed } from './between-looks.ts';
import type { ChannelSettings } from './channel-settings.ts';
import { decide } from './decide.ts';
import { diff } from './diff.ts';
import { recentDowns } from './flapping.ts';
import { grouped, refreshed } from './groups.ts';
import { isOpen, prune, type Surroundings } from './incidents.ts';
import { gathered } from './quiet-digest.ts';
import { quietUntilMs, quietWords } from './quiet-hours.ts';
import { reminded } from './reminders.ts';
import { concernedBy } from './slices.ts';
import type { Incident, Topic, Watching } from './watch-state.ts';

/** What a look needs from outside. */
export interface Around extends Surroundings {
  /** How places are told; nothing is set when left out. */
  settingsOf?: (place: string) => ChannelSettings;
}

/** What the service told besides its list. */
interface Between {
  missed: readonly Missed[];
  /** Those of which the rest is asked for after the next look. */
  later: ReadonlySet<string>;
  /** The list is a part of what the look found. */
  isPart?: boolean;
  /** What became of all topics is looked through after the last slice, one thing at a time. */
  isSliced?: boolean;
}

const NOTHING_MISSED: Between = { missed: [], later: new Set() };

/** What is known and to be told after a look; the same document when nothing is different. Pure. */
export function look(
  watching: Watching | undefined,
  monitors: readonly Monitor[],
  given: Around,
  between: Between = NOTHING_MISSED,
): { watching: Watching; dropped: number } {
  const around = watching?.learnt ? given : { ...given, unseenFromMs: 0 };
  const { sight, changes } = diff(watching, monitors, between.later, between.isPart);
  const all = watching?.topics ?? [];
  const { concerned: known, withOthers } = between.isPart
    ? concernedBy(monitors, all)
    : { concerned: all, withOthers: undefined };
  const recent = recentDowns(watching?.downs, around.nowMs);
  const decided = decide(known, { monitors, changes }, { ...around, recent }, between);
  const before = new Set(known.map(({ id }) => id));
  const isNew = (topic: Topic): topic is Incident => isOpen(topic) && !before.has(topic.id);
  const opened = new Set(decided.filter(isNew).map(({ id }) => id));
  const told = arranged(decided, opened, around);
  const arrangedTopics = withOthers ? withOthers(told) : told;
  const { topics, dropped } =
    between.isPart || between.isSliced
      ? { topics: arrangedTopics, dropped: 0 }
      : prune(broughtUp(arrangedTopics, monitors, around));
  const downs = recent.kept();
  const isSame =
    topics === watching?.topics &&
    downs === watching.downs &&
    sight.known === watching.known &&
    sight.learnt === watching.learnt &&
    sight.shortLooks === watching.shortLooks;
  const seen = { ...sight, topics, ...(downs && { downs }) };
  return { watching: isSame ? watching : seen, dropped };
}

/** The topics as their places are to be told of them: what is quiet there, and what began together. */
function arranged(topics: Topic[], opened: ReadonlySet<string>, around: Around): Topic[] {
  const kept = gathered(topics, { ...around, quietOf: quietNow(around) });
  const isOpened = (topic: Topic): topic is Incident =>
    topic.kind === 'incident' && opened.has(topic.id);
  const others = kept.filter((topic) => !isOpened(topic));
  return opened.size === 0 ? kept : grouped(others, kept.filter(isOpened), around);
}

/** The topics with what became of them: of what began together, and of what goes on for long. */
function broughtUp(topics: Topic[], monitors: readonly Monitor[], around: Around): Topic[] {
  return remindedOf(refreshed(topics, around.nowMs), monitors, around);
}

function remindedOf(topics: Topic[], monitors: readonly Monitor[], around: Around): Topic[] {
  const { nowMs, settingsOf } = around;
  const quietOf = quietNow(around);
  return reminded(topics, {
    nowMs,
    remindMsOf: (place) => (quietOf(place) ? undefined : settingsOf?.(place).remindMs),
    isSeen: seenIn(monitors),
  });
}

/** What a look ends with, each by itself; a crash between two leaves the rest to the next look. */
export function finishes(
  monitors: readonly Monitor[],
  around: Around,
): Array<(topics: Topic[]) => { topics: Topic[]; dropped?: number }> {
  return [
    (topics) => ({ topics: refreshed(topics, around.nowMs) }),
    (topics) => ({ topics: remindedOf(topics, monitors, around) }),
    prune,
  ];
}

/** A function that tells the quiet hours of places where it is quiet now; each is asked once. */
function quietNow({ nowMs, settingsOf }: Around): (place: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (place) => {
    if (known.has(place)) return known.get(place);
    const quiet = settingsOf?.(place).quiet;
    const isQuiet = quiet && quietUntilMs(quiet, nowMs) !== undefined;
    known.set(place, isQuiet ? quietWords(quiet) : undefined);
    return known.get(place);
  };
}

/** A function that tells whether a monitor is in the list. Most looks never ask. */
function seenIn(monitors: readonly Monitor[]): (id: string) => boolean {
  let ids: Set<string> | undefined;
  return (id) => {
    ids ??= new Set(monitors.map((monitor) => monitor.id));
    return ids.has(id);
  };
}
