'use strict';

/**
 * The process of program.ts: runs the schedules that its parent sends, with the bundle that it names. Each run loads the bundle
 * anew, because its connection is to the first Firestore that it got.
 */
process.on('message', async ({ program, seed, schedules, breakName }) => {
  const lines = [];
  Reflect.deleteProperty(require.cache, program);
  const { reportSimulation } = require(program);
  const code = await reportSimulation(seed, schedules, (text) => lines.push(text), breakName);
  process.send({ code, text: lines.join('\n') });
});
