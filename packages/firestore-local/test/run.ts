const USAGE = `Usage: npm run firestore -- record | compare [options]

record   records what Google's emulator answers, which npm test replays
         --google 127.0.0.1:8585  --seed 1  --sequences 4000  --emulator 1.19.9  --out FILE
compare  compares a recording, by default the repository's, with the embedded Firestore
         --recording FILE`;

const VERBS: Record<string, () => Promise<unknown>> = {
  record: () => import('./conformance/record'),
  compare: () => import('./conformance/compare'),
};

function refuse(message: string): void {
  console.error(`${message}\n\n${USAGE}`);
  process.exitCode = 64;
}

const [verb = ''] = process.argv.splice(2, 1);
if ([verb, ...process.argv].includes('--help')) console.log(USAGE);
else if (!(verb in VERBS)) refuse(`There is no "${verb}".`);
else
  VERBS[verb]?.().catch((error: unknown) => {
    const isOfArguments =
      error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
    if (!isOfArguments) throw error;
    refuse(error.message);
  });
