import { render } from 'preact';
import './account.css';
import { Account } from './account.tsx';

const root = document.getElementById('app');
if (root) render(<Account />, root);
