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

export const Meter = ({ kind, share }: { kind: string; share: number }) => (
  <span class={`meter ${kind}`} aria-hidden="true">
    <span style={{ width: `${100 * share}%` }} />
  </span>
);

/** A section of the account area: its head, controls, the state of its request, and its content once that is loaded. */
export function Section(props: {
  title: string;
  about: ComponentChildren;
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
  const { title, about, button, controls, done, loaded, notices = [], empty, children } = props;
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

export function Rows({ more, children }: { more?: ComponentChildren; children: JSX.Element[] }) {
  if (children.length === 0) return null;
  return (
    <>
      <ul class="rows framed">{children}</ul>
      {more && <p class="more aside">{more}</p>}
    </>
  );
}

export function NamedRow(props: {
  name: string;
  tags: ComponentChildren;
  buttons: ReadonlyArray<{ text: string; label: string; danger?: boolean; onClick: () => void }>;
  children: ComponentChildren;
}) {
  const { name, tags, buttons, children } = props;
  return (
    <li class="key">
      <div class="who">
        <h3>
          <Name>{name}</Name>
        </h3>
        <p class="flow beside aside">{tags}</p>
      </div>
      <dl>{children}</dl>
      <div class="actions">
        {buttons.map(({ text, label, danger, onClick }) => (
          <button
            key={text}
            type="button"
            class={danger ? 'plain danger' : 'plain'}
            aria-label={label}
            onClick={onClick}
          >
            {text}
          </button>
        ))}
      </div>
    </li>
  );
}

export interface Option<T extends string | number> {
  value: T;
  label: string;
}

export function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: ReadonlyArray<Option<T>>;
  onChange: (value: T) => void;
  minor?: boolean;
}) {
  const { label, value, options, onChange, minor = false } = props;
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

export function Segments<T extends string | number>(props: {
  legend: string;
  value: T;
  options: ReadonlyArray<Option<T>>;
  onChange: (value: T) => void;
}) {
  const { legend, value, options, onChange } = props;
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
