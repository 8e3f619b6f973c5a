'use strict';

/**
 * The process of program.ts: runs the schedules that its parent sends, with the bundle that it names, and tells it each line.
 * Each run loads the bundle anew, because its connection is to the first Firestore that it got.
 */
process.on('message', async ({ program, seed, schedules, breakName }) => {
  Reflect.deleteProperty(require.cache, program);
  const { reportSimulation } = require(program);
  const code = await reportSimulation(seed, schedules, (line) => process.send({ line }), breakName);
  process.send({ code });
});
