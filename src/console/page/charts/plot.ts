import type uPlot from 'uplot';
import { scriptAddress } from '../shared/script-address.ts';

export type ChartLibrary = typeof uPlot;

/** A chart in its frame; `end` takes it away. */
export interface DrawnChart {
  plot: uPlot;
  end(): void;
}

/** Loads what draws charts, once. Rejects when it does not come. */
export async function loadChartLibrary(): Promise<ChartLibrary> {
  const loaded: typeof import('./entry-chart-library.ts') = await import(
    scriptAddress('chart-library')
  );
  return loaded.chartLibrary;
}

/** Draws a chart into its frame, and keeps it as wide as that and in the colours of the theme. */
export function drawPlot(
  library: ChartLibrary,
  frame: HTMLElement,
  options: Omit<uPlot.Options, 'width'>,
  data: uPlot.AlignedData,
): DrawnChart {
  const size = () => ({ width: Math.max(1, frame.clientWidth), height: options.height });
  const plot = new library({ ...options, ...size() }, data, frame);
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
  font: '12px Inter, system-ui, sans-serif',
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
