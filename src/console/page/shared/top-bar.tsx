import type { ComponentChildren } from 'preact';
import { Mark } from './icons.tsx';
import { LogOut } from './log-out.tsx';
import { type PagePath, PagesNav } from './pages-nav.tsx';

/** Opens the playground with `/askwatch help` typed in. */
const HELP_PATH = '/?help';

/** The head of every page. Strangers see only the status page, so they get no links to the others. */
export function TopBar(props: {
  here: PagePath;
  isForStrangers?: boolean;
  /** Runs instead of opening the playground. */
  onHelp?: () => void;
  end?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const { here, isForStrangers = false, onHelp, end, children } = props;
  // The other pages have a heading of their own.
  const Brand = here === '/' ? 'h1' : 'p';
  return (
    <header class="top-bar flow beside">
      <Brand class="brand beside">
        <Mark />
        <span class="brand-name">{isForStrangers ? 'Status' : 'Askwatch'}</span>
      </Brand>
      {!isForStrangers && <PagesNav here={here} />}
      <div class="bar-end beside">
        {children}
        {!isForStrangers && (
          <a
            class="quiet minor help"
            href={HELP_PATH}
            onClick={(event) => {
              if (!onHelp) return;
              event.preventDefault();
              onHelp();
            }}
          >
            Help
          </a>
        )}
        <LogOut />
        {end}
      </div>
    </header>
  );
}
