import { Mark } from '../shared/icons.tsx';

/** Page for an unknown address; it needs no script. */
export const NotFound = () => (
  <main class="login">
    <Mark />
    <h1>Page not found</h1>
    <p class="note">There's nothing at this address. It may be mistyped, or the page is gone.</p>
    <a class="submit" href="/">
      Go to Askwatch
    </a>
  </main>
);
