// Each mutant meets the same random cases, as many as half a second takes, and which of them fails is not asked.
require('fast-check').configureGlobal({ seed: 1, endOnFailure: true, interruptAfterTimeLimit: 500 });
