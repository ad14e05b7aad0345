import { render } from 'preact';
import '../shared/language.ts';
import './account.css';
import { Account } from './account.tsx';

const root = document.getElementById('app');
if (root) render(<Account />, root);
