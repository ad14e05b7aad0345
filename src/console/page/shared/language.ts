// uPlot makes a number format of the browser's language as soon as it is loaded, and Chromium in a POSIX locale names one
// that is no language tag, `en-US@posix`. An entry whose page draws charts imports this before them.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: navigator.language.replace(/@.*/, '') });
}
