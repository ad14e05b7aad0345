import type { StatusMonitor } from '../../../status/api-types.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { publicAddress } from '../../shared/meta.ts';
import { addressOf } from '../use-status.ts';

/** The monitor's badge, its Markdown to embed it, and links for programs. */
export function BadgeSnippet({ monitor: { id, name, status } }: { monitor: StatusMonitor }) {
  const path = `/status/badge/${encodeURIComponent(id)}.svg`;
  const address = publicAddress();
  const markdown = `[![${plain(name)}](${address}${path})](${address}/status${addressOf(id)})`;
  return (
    <section class="panel framed" aria-label="Embed">
      <h2>Embed</h2>
      <p class="snippet flow beside">
        {/* The status in the address makes the browser load the image again when it changes. */}
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

const plain = (name: string) => name.replace(/[^\p{L}\p{N} .,:_-]/gu, '').trim() || 'Status';
