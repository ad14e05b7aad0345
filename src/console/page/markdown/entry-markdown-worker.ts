import type { MarkdownJob } from './blocks.ts';
import { setMarkdown } from './markdown.ts';

self.onmessage = ({ data }: MessageEvent<MarkdownJob>) => self.postMessage(setMarkdown(data));
// The time that a job may take counts from here.
self.postMessage('ready');
