// These suites start no program, so a test that takes two minutes has hung. People run them while they work.
if (/functions.test.(modules|endpoints|contract)\b/.test(expect.getState().testPath)) jest.setTimeout(120_000);
