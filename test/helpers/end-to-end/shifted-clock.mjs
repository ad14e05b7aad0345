// Loaded before a program, so that its clock of the wall began at ASKWATCH_TEST_NOW_MS: sessions and answers of a stored
// folder would be too old today. Timers are not touched: they go by the monotonic clock.
const RealDate = Date;
const shiftMs = Number(process.env.ASKWATCH_TEST_NOW_MS) - RealDate.now();

globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length === 0 ? [RealDate.now() + shiftMs] : values));
  }
  static now() {
    return RealDate.now() + shiftMs;
  }
};
