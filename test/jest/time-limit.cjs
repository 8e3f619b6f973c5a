// Contributors run these suites while they work, so a test that hangs fails after two minutes, not ten.
if (/functions.test.(modules|endpoints|contract)\b/.test(expect.getState().testPath)) jest.setTimeout(120_000);
