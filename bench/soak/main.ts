import { parseArgs } from 'node:util';
import { renderSoakText } from './report';
import { soak } from './soak';

/**
 * `npm run bench -- --soak [--seconds 240] [--outage 60] [--schedule 60] [--connections 64] [--pause 0] [--seed N]`; exits
 * with 1 if anything is lost, twice or left to an operator.
 */

const { values } = parseArgs({
  options: {
    soak: { type: 'boolean' },
    seconds: { type: 'string', default: '240' },
    connections: { type: 'string', default: '64' },
    outage: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 1e9)) },
    schedule: { type: 'string', default: '60' },
    pause: { type: 'string', default: '0' },
  },
});

async function main(): Promise<void> {
  const options = {
    seconds: Number(values.seconds),
    connections: Number(values.connections),
    outageSeconds: Number(values.outage),
    seed: Number(values.seed),
    scheduleSeconds: Number(values.schedule),
    pauseSeconds: Number(values.pause),
  };
  if (!(options.seconds > 2 * options.outageSeconds)) {
    console.error('Usage: --seconds must be more than two outages.');
    process.exit(64);
  }
  const report = await soak(options, (seconds, responses) => {
    process.stderr.write(`\r${seconds} of ${options.seconds} s, ${responses} responses`);
  });
  process.stderr.write('\n');
  console.log(renderSoakText(report));
  process.exit(report.violations.length === 0 ? 0 : 1);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
