import { CopyButton } from '../shared/copy-button.tsx';
import { Mark } from '../shared/icons.tsx';

const LINE = '/monitor add https://example.com';

/** What the page says before anything is watched. */
export function NoMonitors({ isPublic }: { isPublic: boolean }) {
  return (
    <section class="nothing">
      <Mark />
      <h2>Nothing is watched yet</h2>
      {isPublic ? (
        <p>Monitors appear here as soon as there are some.</p>
      ) : (
        <>
          <p>
            Add a monitor in the <a href="/">playground</a>, or in Slack or Discord. It appears here
            at once.
          </p>
          <p class="snippet">
            <code>{LINE}</code>
            <CopyButton text={LINE} />
          </p>
        </>
      )}
    </section>
  );
}
