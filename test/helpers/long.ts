/** Whether the full counts are wanted (`npm run test:long`), which also runs the files `*.long.test.ts`. */
export const long = process.env.ASKWATCH_TEST_LONG === '1';
