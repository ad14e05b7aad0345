/** True in `npm run test:long`, which runs full counts and the files `*.long.test.ts`. */
export const long = process.env.ASKWATCH_TEST_LONG === '1';
