import type { ComponentChildren } from 'preact';

/** One row of a list of facts; a `wide` one takes all columns. */
export const Fact = ({
  label,
  wide = false,
  children,
}: {
  label: string;
  wide?: boolean;
  children: ComponentChildren;
}) => (
  <div class={wide ? 'wide' : undefined}>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);
