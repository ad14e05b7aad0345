import type { ComponentChildren, JSX } from 'preact';
import { type DaySpan, SPANS } from '../../account/spans.ts';
import type { Loaded } from './client.ts';

const whole = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

export const formatNumber = (count: number) => whole.format(count);
export const shortNumber = (count: number) => compact.format(count);

/** Formats a day of the UTC calendar, such as `2026-11-22`. */
export const formatDay = (date: string) => day.format(Date.parse(date));

/** A name that people chose, isolated so that its writing direction stays its own. */
export const Name = ({ children }: { children: string }) => <bdi class="name">{children}</bdi>;

/** A bar filled by a share of it, from 0 to 1. */
export const Meter = ({ kind, share }: { kind: string; share: number }) => (
  <span class={`meter ${kind}`} aria-hidden="true">
    <span style={{ width: `${100 * share}%` }} />
  </span>
);

/** A section of the account area: its head, controls, the state of its request, and its content once that is loaded. */
export function Section({
  title,
  about,
  button,
  controls,
  done,
  loaded,
  notices = [],
  empty,
  children,
}: {
  title: string;
  about: string;
  button?: { text: string; onClick: () => void };
  controls?: ComponentChildren;
  /** The last action that succeeded here, as a sentence. */
  done?: string;
  loaded: Loaded<unknown>;
  notices?: readonly string[];
  /** Replaces a list without entries. */
  empty?: { title: string; text: ComponentChildren };
  children: ComponentChildren;
}) {
  return (
    <section>
      <header class="section-head flow">
        <div>
          <h2 tabIndex={-1}>{title}</h2>
          <p>{about}</p>
        </div>
        {button && (
          <button type="button" class="main" onClick={button.onClick}>
            {button.text}
          </button>
        )}
      </header>
      {controls && <div class="choices flow">{controls}</div>}
      <p class="done" role="status">
        {done}
      </p>
      <LoadState loaded={loaded} />
      {notices.map((notice) => (
        <p key={notice} class="notice">
          {notice}
        </p>
      ))}
      {loaded.value !== undefined && empty && (
        <div class="nothing">
          <h3>{empty.title}</h3>
          <p>{empty.text}</p>
        </div>
      )}
      {loaded.value !== undefined && children}
    </section>
  );
}

/** Says that a request is under way, or why it failed; older content stays below. */
function LoadState({ loaded: { value, problem, reload } }: { loaded: Loaded<unknown> }) {
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
  if (value !== undefined) return null;
  return (
    <p class="waiting" role="status">
      Loading…
    </p>
  );
}

/** A list, with a note if it isn't complete. */
export function Rows({ more, children }: { more?: ComponentChildren; children: JSX.Element[] }) {
  if (children.length === 0) return null;
  return (
    <>
      <ul class="rows framed">{children}</ul>
      {more && <p class="more aside">{more}</p>}
    </>
  );
}

export interface Option<T extends string | number> {
  value: T;
  label: string;
}

/** A drop-down list with its label above it. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
  minor = false,
}: {
  label: string;
  value: T;
  options: ReadonlyArray<Option<T>>;
  onChange: (value: T) => void;
  minor?: boolean;
}) {
  return (
    <label class={minor ? 'choice minor' : 'choice'}>
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A few radio buttons side by side. */
export function Segments<T extends string | number>({
  legend,
  value,
  options,
  onChange,
}: {
  legend: string;
  value: T;
  options: ReadonlyArray<Option<T>>;
  onChange: (value: T) => void;
}) {
  return (
    <fieldset class="segments">
      <legend class="unseen">{legend}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={legend}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  );
}

export const SpanChoice = (props: { days: DaySpan; onChange: (days: DaySpan) => void }) => (
  <Segments
    legend="Period"
    value={props.days}
    options={SPANS.map((days) => ({ value: days, label: `${days} days` }))}
    onChange={props.onChange}
  />
);
