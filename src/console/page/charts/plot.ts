import type uPlot from 'uplot';
import { scriptAddress } from '../shared/script-address.ts';

export type ChartLibrary = typeof uPlot;

export interface DrawnChart {
  plot: uPlot;
  end(): void;
}

export async function loadChartLibrary(): Promise<ChartLibrary> {
  const loaded: typeof import('./entry-chart-library.ts') = await import(
    scriptAddress('chart-library')
  );
  return loaded.chartLibrary;
}

/** Draws a chart that follows its frame's width and the theme's colours until `end` is called. */
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

export const axisIn = (frame: HTMLElement): uPlot.Axis => ({
  stroke: () => colourIn(frame, '--muted'),
  font: '12px Inter, system-ui, sans-serif',
  grid: { stroke: () => colourIn(frame, '--line'), width: 1 },
  ticks: { show: false },
});

/** The current value of a theme colour, because a canvas can't read CSS variables. */
export function colourIn(element: HTMLElement, variable: string): string {
  const probe = document.createElement('i');
  probe.style.cssText = `color: var(${variable}); forced-color-adjust: none`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
