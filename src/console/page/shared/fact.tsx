import type { ComponentChildren } from 'preact';

/** One row of a list of facts. */
export const Fact = ({ label, children }: { label: string; children: ComponentChildren }) => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);
