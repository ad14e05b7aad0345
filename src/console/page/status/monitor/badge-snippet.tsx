import type { StatusMonitor } from '../../../status/api-types.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { publicAddress } from '../../shared/public-address.ts';
import { addressOf } from '../use-status.ts';

/** The badge of a monitor, what to copy to show it elsewhere, and the same facts for programs. */
export function BadgeSnippet({ monitor: { id, name, status } }: { monitor: StatusMonitor }) {
  const path = `/status/badge/${encodeURIComponent(id)}.svg`;
  const address = publicAddress();
  const markdown = `[![${plain(name)}](${address}${path})](${address}/status${addressOf(id)})`;
  return (
    <section class="panel framed" aria-label="Embed">
      <h2>Embed</h2>
      <p class="snippet flow beside">
        {/* Asked for anew when the status changes: an image on a page is not. */}
        <img src={`${path}?${new URLSearchParams({ status })}`} alt="Badge of this monitor" />
        <code class="framed">{markdown}</code>
        <CopyButton text={markdown} />
      </p>
      <p class="elsewhere flow">
        <a href={`/status/monitors/${encodeURIComponent(id)}?hours=24`}>JSON</a>
        <a href="/status/feed.xml">Incident feed</a>
      </p>
    </section>
  );
}

/** A name that means nothing to Markdown, wherever it is pasted. */
const plain = (name: string) => name.replace(/[^\p{L}\p{N} .,:_-]/gu, '').trim() || 'Status';
