// Every mutant meets the same random cases, each property for at most half a second. Failures are not shrunk.
require('fast-check').configureGlobal({ seed: 1, endOnFailure: true, interruptAfterTimeLimit: 500 });
