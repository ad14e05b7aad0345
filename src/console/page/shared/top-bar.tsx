import type { ComponentChildren } from 'preact';
import { Mark } from './icons.tsx';
import { LogOut } from './log-out.tsx';
import { PagesNav } from './pages-nav.tsx';

/** The head of the pages beside the playground: the name, the way to the others, and what a page adds. */
export function TopBar({
  here,
  children,
}: {
  here: '/status' | '/account';
  children?: ComponentChildren;
}) {
  return (
    <header class="top-bar flow beside">
      <p class="brand beside">
        <Mark />
        Askwatch
      </p>
      <PagesNav here={here} />
      {children}
      <LogOut />
    </header>
  );
}
