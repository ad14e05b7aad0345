// uPlot makes a number format of the browser's language as soon as it is loaded, and Chromium in a POSIX locale names one
// that is no language tag, `en-US@posix`. The chart library's entry imports this before it.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: navigator.language.replace(/@.*/, '') });
}
