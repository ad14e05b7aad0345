import './language.ts';
import uPlot from 'uplot';

// Most readers open no chart, so the library is a separate script that the first chart loads.
export const chartLibrary = uPlot;
