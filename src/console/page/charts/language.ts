// uPlot creates a number format for the browser's language when it is loaded. In a POSIX locale Chromium names the language
// `en-US@posix`, which isn't a valid tag. The chart library's entry imports this file first.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: navigator.language.replace(/@.*/, '') });
}
