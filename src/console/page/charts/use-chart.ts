import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { type ChartLibrary, type DrawnChart, loadChartLibrary } from './plot.ts';

const PROBLEM = 'The chart could not be loaded. Reload the page to try again.';

/**
 * Draws a chart once its library is loaded, and again when one of `inputs` changes. `problem` is a sentence to show if the library
 * can't be loaded.
 */
export function useChart(
  draw: (library: ChartLibrary, frame: HTMLElement) => DrawnChart,
  inputs: readonly unknown[],
): { frame: RefObject<HTMLDivElement | null>; plot: RefObject<uPlot | null>; problem?: string } {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const [library, setLibrary] = useState<{ loaded?: ChartLibrary }>();
  useEffect(() => {
    loadChartLibrary().then(
      (loaded) => setLibrary({ loaded }),
      () => setLibrary({}),
    );
  }, []);
  useLayoutEffect(() => {
    if (!library?.loaded || !frame.current) return;
    const drawn = draw(library.loaded, frame.current);
    plot.current = drawn.plot;
    return () => {
      plot.current = null;
      drawn.end();
    };
  }, [library, ...inputs]);
  const isMissing = library !== undefined && !library.loaded;
  return { frame, plot, problem: isMissing ? PROBLEM : undefined };
}
