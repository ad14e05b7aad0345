import type { ComponentChildren } from 'preact';
import { SPANS, type Span } from '../../account/spans.ts';
import type { Loaded } from './client.ts';

const whole = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

export const formatNumber = (count: number) => whole.format(count);
export const shortNumber = (count: number) => compact.format(count);

/** A day of the UTC calendar, such as `2026-11-22`, as people write it. */
export const formatDay = (date: string) => day.format(Date.parse(date));

/** A name as somebody gave it: its direction of writing stays its own. */
export const Name = ({ children }: { children: string }) => <bdi class="name">{children}</bdi>;

/** A bar that is filled by a share of it, from 0 to 1. */
export const Meter = ({ kind, share }: { kind: string; share: number }) => (
  <span class={`meter ${kind}`} aria-hidden="true">
    <span style={{ width: `${100 * share}%` }} />
  </span>
);

/** The head of a section, and what can be done there. */
export function SectionHead({
  title,
  about,
  children,
}: {
  title: string;
  about: string;
  children?: ComponentChildren;
}) {
  return (
    <header class="section-head flow">
      <div>
        <h2 tabIndex={-1}>{title}</h2>
        <p>{about}</p>
      </div>
      {children}
    </header>
  );
}

/** What stands in place of something that is on its way or did not come; a problem stays beside what is out of date. */
export function Waiting({ loaded }: { loaded: Loaded<unknown> }) {
  const { value, problem, reload } = loaded;
  if (problem !== undefined) {
    return (
      <div class="problem flow beside" role="alert">
        <p>{problem}</p>
        <button type="button" class="plain" onClick={() => void reload()}>
          Try again
        </button>
      </div>
    );
  }
  return value === undefined ? (
    <p class="waiting" role="status">
      Loading…
    </p>
  ) : null;
}

/** A sentence of the server's about what cannot be seen here. */
export function Notice({ children }: { children: ComponentChildren }) {
  return <p class="notice">{children}</p>;
}

/** A section in which there is nothing yet. */
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="nothing">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** One of a few, side by side. */
export function Segments<T extends string | number>({
  legend,
  value,
  choices,
  onChange,
}: {
  legend: string;
  value: T;
  choices: ReadonlyArray<{ value: T; label: string }>;
  onChange: (value: T) => void;
}) {
  return (
    <fieldset class="segments">
      <legend class="unseen">{legend}</legend>
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            type="radio"
            name={legend}
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          <span>{choice.label}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** The days that are shown. */
export const SpanChoice = (props: { days: Span; onChange: (days: Span) => void }) => (
  <Segments
    legend="Period"
    value={props.days}
    choices={SPANS.map((days) => ({ value: days, label: `${days} days` }))}
    onChange={props.onChange}
  />
);
