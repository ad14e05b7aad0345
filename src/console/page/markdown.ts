import DOMPurify from 'dompurify';
import { Marked } from 'marked';

const escaped = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

const markdown = new Marked({
  async: false,
  gfm: true,
  breaks: true,
  renderer: {
    // HTML in an answer is something the model talks about: it is shown, not used.
    html: ({ text, block }) => (block ? `<p>${escaped(text)}</p>` : escaped(text)),
    // Showing a picture would make the browser call whoever the answer names.
    image: ({ href, text }) => `<a href="${escaped(href)}">Picture: ${escaped(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

const TAGS =
  'a p br strong em del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 hr table thead tbody tr th td';

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  const href = node.getAttribute('href');
  if (href === null) return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
  // Where a link leads is seen before it is followed, whatever its text says.
  node.setAttribute('title', href);
});

/** Markdown as models write it, as elements that are safe to show. */
export function renderMarkdown(text: string): DocumentFragment {
  return DOMPurify.sanitize(markdown.parse(text, { async: false }), {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: TAGS.split(' '),
    ALLOWED_ATTR: ['href', 'start', 'align', 'target', 'rel', 'title'],
    ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}

/** Makes `element` show `fresh`, touching only the blocks that differ, so that a selection above survives. */
export function showBlocks(element: Element, fresh: DocumentFragment): void {
  const blocks = [...fresh.childNodes];
  for (const [index, block] of blocks.entries()) {
    const shown = element.childNodes[index];
    if (!shown) element.append(block);
    else if (!shown.isEqualNode(block)) shown.replaceWith(block);
  }
  while (element.childNodes.length > blocks.length) element.lastChild?.remove();
}
