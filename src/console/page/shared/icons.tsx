export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="9" />
      <path d="M7 17h4.5l2.5-7 4 13 2.5-6H25" />
    </svg>
  );
}

const icon = (line: string, transform?: string) => () => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={line} transform={transform} />
  </svg>
);

export const SendIcon = icon('M12 19V5M5.5 11.5 12 5l6.5 6.5');
export const AttachIcon = icon(
  'M20 11.5l-7.8 7.8a5 5 0 0 1-7-7L13 4.5a3.3 3.3 0 0 1 4.7 4.7l-7.7 7.7a1.7 1.7 0 0 1-2.4-2.4l7-7',
);
export const CloseIcon = icon('M6 6l12 12M18 6 6 18');
export const PlusIcon = icon('M12 5v14M5 12h14');
export const MenuIcon = icon('M4 7h16M4 12h16M4 17h16');
export const FoldIcon = icon('M6 9l6 6 6-6');
export const ReplyIcon = icon('M20 15a3 3 0 0 1-3 3H9l-5 3V7a3 3 0 0 1 3-3h10a3 3 0 0 1 3 3z');
export const LockIcon = icon('M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z');
export const CopyIcon = icon('M9 9h11v11H9zM15 9V4H4v11h5');

const THUMB =
  'M7 11v9H4v-9zm0 0 4-8a2.5 2.5 0 0 1 2.5 3L13 9h5a2 2 0 0 1 2 2.4l-1.4 7A2 2 0 0 1 16.6 20H7';
export const ThumbUpIcon = icon(THUMB);
export const ThumbDownIcon = icon(THUMB, 'matrix(1 0 0 -1 0 24)');

/** A shape for each tone, because colour alone isn't enough for everyone. */
export function ToneIcon({ tone }: { tone: 'good' | 'bad' | 'warning' | 'info' }) {
  const shapes = {
    good: <path d="m7.5 12.5 3 3 6-7" />,
    bad: <path d="m8.5 8.5 7 7m0-7-7 7" />,
    warning: <path d="M12 7v6m0 3.6v.4" />,
    info: <path d="M12 11v6m0-10v.4" />,
  };
  return (
    <svg class="icon tone-icon" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="12" r="10" />
      {shapes[tone]}
    </svg>
  );
}
