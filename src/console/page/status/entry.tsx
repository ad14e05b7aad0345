import { render } from 'preact';
import './status.css';
import { createStatusClient } from './client.ts';
import { StatusPage } from './status-page.tsx';

// The page itself restores the list's scroll position, once the list is visible again.
history.scrollRestoration = 'manual';

const root = document.getElementById('app');
if (root) {
  // The server has rendered links to the other pages for members only.
  const isForStrangers = root.querySelector('.pages') === null;
  render(<StatusPage client={createStatusClient()} isForStrangers={isForStrangers} />, root);
}
