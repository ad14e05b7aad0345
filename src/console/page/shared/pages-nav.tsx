const PAGES = [
  { path: '/', name: 'Playground' },
  { path: '/status', name: 'Status' },
  { path: '/account', name: 'Account' },
] as const;

export type PagePath = (typeof PAGES)[number]['path'];

export function PagesNav({ here }: { here: PagePath }) {
  return (
    <nav class="pages" aria-label="Pages">
      <ul>
        {PAGES.map(({ path, name }) => (
          <li key={path}>
            <a href={path} {...(path === here && { 'aria-current': 'page' })}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
