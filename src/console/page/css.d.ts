// esbuild writes the imported style beside the script.
declare module '*.css';
