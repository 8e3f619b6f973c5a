import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { renderSoakChart, renderSoakText } from './report';
import { soak } from './soak';

/** `npm run soak -- [--seconds 120] [--connections 64] [--outage 8] [--seed N] [--svg FILE]`; exits with 1 if anything must not be. */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    connections: { type: 'string', default: '64' },
    outage: { type: 'string', default: '8' },
    seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 1e9)) },
    svg: { type: 'string' },
  },
});

async function main(): Promise<void> {
  const options = {
    seconds: Number(values.seconds),
    connections: Number(values.connections),
    outageSeconds: Number(values.outage),
    seed: Number(values.seed),
  };
  const report = await soak(options, (seconds, answers) => {
    process.stderr.write(`\r${seconds} of ${options.seconds} s, ${answers} answers`);
  });
  process.stderr.write('\n');
  console.log(renderSoakText(report));
  if (values.svg !== undefined) writeFileSync(values.svg, renderSoakChart(report));
  process.exit(report.violations.length === 0 ? 0 : 1);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
