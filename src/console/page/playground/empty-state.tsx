import { Mark } from '../shared/icons.tsx';

const TRIES = [
  { line: '/ask why is the sky blue', about: 'Ask a question; the answer streams into a thread' },
  { line: '/monitor add https://example.com', about: 'Watch an address; alerts appear here' },
  { line: '/askwatch help', about: 'See everything it can do' },
];

/** What a channel without messages says: three things to try, each a click away from the input. */
export function EmptyState({ onTry }: { onTry: (line: string) => void }) {
  return (
    <section class="empty">
      <Mark />
      <h3>Welcome to Askwatch</h3>
      <p>This channel works like the ones in Slack and Discord. Three things to try:</p>
      <ul>
        {TRIES.map(({ line, about }) => (
          <li key={line}>
            <button type="button" onClick={() => onTry(line)}>
              <code>{line}</code>
              <span>{about}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
