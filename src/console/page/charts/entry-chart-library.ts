import './language.ts';
import uPlot from 'uplot';

// Most who open a page look at no chart: this is a script of its own, which the first chart loads.
export const chartLibrary = uPlot;
