'use strict';

/** The process of program.ts: runs the schedules that its parent sends, with the bundle that it names. */
process.on('message', async ({ program, seed, schedules }) => {
  const lines = [];
  const { reportSimulation } = require(program);
  const code = await reportSimulation(seed, schedules, (text) => lines.push(text));
  process.send({ code, text: lines.join('\n') });
});
