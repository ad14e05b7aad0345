import dockerfile from 'highlight.js/lib/languages/dockerfile';
import nginx from 'highlight.js/lib/languages/nginx';
import powershell from 'highlight.js/lib/languages/powershell';
import { common, createLowlight } from 'lowlight';
import type { ColourJob, ColourResult, MarkdownPiece } from './blocks.ts';

const lowlight = createLowlight({ ...common, dockerfile, nginx, powershell });

/** Laying out more coloured parts would freeze the page. */
export const MAX_COLOURED = 4_000;

type Coloured = ReturnType<typeof lowlight.highlight>['children'][number];

export function colour({ language, code }: ColourJob): ColourResult {
  if (!lowlight.registered(language)) return undefined;
  const { children } = lowlight.highlight(language, code);
  let parts = 0;
  function pieceOf(node: Coloured): MarkdownPiece {
    if (node.type === 'text') return node.value;
    if (node.type !== 'element') return '';
    parts += 1;
    const { className } = node.properties;
    const name = Array.isArray(className) ? className.join(' ') : '';
    return ['span', { class: name }, node.children.map(pieceOf)];
  }
  const pieces = children.map(pieceOf);
  return parts <= MAX_COLOURED ? JSON.stringify(pieces) : undefined;
}
