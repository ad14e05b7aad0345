import { render } from 'preact';
import './status.css';
import { createStatusClient } from './client.ts';
import { StatusPage } from './status-page.tsx';

// Back from a monitor the list is brought to where it was, once it is shown again.
history.scrollRestoration = 'manual';

const root = document.getElementById('app');
if (root) {
  // The server has drawn the head for members with the way to the other pages, and that for strangers without.
  const isForStrangers = root.querySelector('.pages') === null;
  render(<StatusPage client={createStatusClient()} isForStrangers={isForStrangers} />, root);
}
