import type { MarkdownJob } from './blocks.ts';
import { formatMarkdown } from './markdown.ts';

self.onmessage = ({ data }: MessageEvent<MarkdownJob>) => self.postMessage(formatMarkdown(data));
// The page's time limit for a job begins here.
self.postMessage('ready');
