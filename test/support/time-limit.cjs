// The suites that people run while they work start no program, so a test that takes two minutes hangs.
if (/functions.test.(modules|endpoints|contract)\b/.test(expect.getState().testPath)) jest.setTimeout(120_000);
