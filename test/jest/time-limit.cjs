// Contributors run these suites while they work, and a test of them that takes two minutes has hung.
if (/functions.test.(modules|endpoints|contract)\b/.test(expect.getState().testPath)) jest.setTimeout(120_000);
