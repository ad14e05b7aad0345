import uPlot from 'uplot';

/**
 * Draws a chart into its frame, and keeps it as wide as that and in the colours of the theme. `end` takes it away.
 */
export function drawPlot(
  frame: HTMLElement,
  options: Omit<uPlot.Options, 'width'>,
  data: uPlot.AlignedData,
): { plot: uPlot; end: () => void } {
  const size = () => ({ width: Math.max(1, frame.clientWidth), height: options.height });
  const plot = new uPlot({ ...options, ...size() }, data, frame);
  const observer = new ResizeObserver(() => plot.setSize(size()));
  observer.observe(frame);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const redraw = () => plot.redraw(false);
  scheme.addEventListener('change', redraw);
  const end = () => {
    scheme.removeEventListener('change', redraw);
    observer.disconnect();
    plot.destroy();
  };
  return { plot, end };
}

/** An axis as all charts have it. */
export const axisIn = (frame: HTMLElement): uPlot.Axis => ({
  stroke: () => colourIn(frame, '--muted'),
  font: '12px system-ui, sans-serif',
  grid: { stroke: () => colourIn(frame, '--line'), width: 1 },
  ticks: { show: false },
});

/** A colour of the theme at an element, as it is now; a canvas does not know what a variable stands for. */
export function colourIn(element: HTMLElement, variable: string): string {
  const probe = document.createElement('i');
  probe.style.cssText = `color: var(${variable}); forced-color-adjust: none`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
