// Contributors run these suites while they work. If a test in one of them takes two minutes, it hangs.
if (/functions.test.(modules|endpoints|contract)\b/.test(expect.getState().testPath)) jest.setTimeout(120_000);
